"""The shapes of requests and responses of the API. The rules are in the services."""

from __future__ import annotations

from typing import Any, get_args

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotator.api.known_keys import KnownKeysSerializer
from annotator.hit_types.base import Level
from annotator.models import Exclusion, Export, FileImport, Item, Judgment, Study
from annotator.selectors.judgment import FILTERS
from annotator.services.imports.label_counts import NOT_WITH_COUNTS, count_columns
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn

#: The fields that a researcher sets; all other fields of a study are read-only.
SETTABLE = (
    "title", "summary", "contact", "language", "translations", "redundancy", "seed", "lease_minutes", "max_items_per_rater",
    "one_condition_per_instance", "consent_text", "instructions_text", "practice_required", "exam_required",
    "exam_questions", "pass_mark", "exam_attempts", "exam_wait_minutes", "exam_feedback", "exam_key_early", "revoked_work", "joins_per_hour", "joins_per_address", "extra_time", "unfinished_per_hour", "erasure_policy", "retention_days", "exam_pay",
    "exam_own", "practice_own", "requires", "pay_per_item",
    "currency", "minutes_per_item", "pay_floor_per_hour", "min_seconds", "undo_seconds", "join_open",
    "completion_code", "panel", "panel_links", "panel_study_ids", "screened_out_code", "nothing_left_code",
)  # fmt: skip


class StudySerializer(serializers.ModelSerializer[Study]):
    role = serializers.SerializerMethodField(help_text="Your role in it.")

    class Meta:
        model = Study
        fields = (
            "slug",
            "hit_type",
            "variant",
            "state",
            "role",
            *SETTABLE,
            "created_at",
            "launched_at",
            "closed_at",
        )
        read_only_fields = ("slug", "hit_type", "variant", "state", "created_at", "launched_at", "closed_at")

    def get_role(self, study: Study) -> str:
        return getattr(study, "my_role", None) or "superuser"


class StudyCreateSerializer(StudySerializer):
    template = serializers.CharField(
        write_only=True,
        help_text="A HIT type's name, or name and variant such as rationale_properties/support; see /hit-types/.",
    )

    class Meta(StudySerializer.Meta):
        fields = ("template", *StudySerializer.Meta.fields)  # type: ignore[assignment]
        read_only_fields = ("hit_type", "variant", "state", "created_at", "launched_at", "closed_at")  # type: ignore[assignment]


class ProgressSerializer(serializers.Serializer[Any]):
    items = serializers.IntegerField()
    gold = serializers.IntegerField()
    attention = serializers.IntegerField()
    places = serializers.IntegerField()
    done = serializers.IntegerField()
    leased = serializers.IntegerField()
    free = serializers.IntegerField()
    judgments = serializers.IntegerField()
    web = serializers.IntegerField()
    imported = serializers.IntegerField()
    simulated = serializers.IntegerField()
    rehearsed = serializers.IntegerField()
    surplus = serializers.IntegerField()
    people = serializers.IntegerField(help_text="Participants with judgments.")
    imported_raters = serializers.IntegerField()
    rehearsal_raters = serializers.IntegerField()
    simulators = serializers.IntegerField()
    median_seconds = serializers.FloatField(allow_null=True)
    fast = serializers.IntegerField(help_text="Faster than the study's min_seconds.")
    pay_per_hour = serializers.FloatField(allow_null=True, help_text="On the median time.")
    excluded = serializers.IntegerField(help_text="Exclusions in force.")


class ColumnSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    help = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]
    kind = serializers.CharField()


class VariableSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    level = serializers.CharField()
    labels = serializers.ListField(child=serializers.CharField())
    abstain = serializers.ListField(child=serializers.CharField())


class HitTypeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.IntegerField()
    title = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    external = serializers.BooleanField(help_text="Labels are collected elsewhere and imported.")
    headline = serializers.CharField()
    variables = VariableSerializer(many=True)
    columns = ColumnSerializer(many=True)


class ImageSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    digest = serializers.CharField(help_text="SHA-256 of the file.")
    media_type = serializers.CharField()
    width = serializers.IntegerField(help_text="Pixels.")
    height = serializers.IntegerField(help_text="Pixels.")
    size = serializers.IntegerField(help_text="Bytes.")


class ImagesSentSerializer(serializers.Serializer[Any]):
    images = serializers.ListField(
        child=serializers.FileField(), help_text="Images, or zip archives of them."
    )


class ImagesUploadedSerializer(serializers.Serializer[Any]):
    images = ImageSerializer(many=True, help_text="Those that were added.")
    unchanged = serializers.IntegerField(help_text="How many were there already.")


class FaultSerializer(serializers.Serializer[Any]):
    file = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    field = serializers.CharField()
    value = serializers.CharField()
    expected = serializers.CharField()


class ImportRefusedSerializer(serializers.Serializer[Any]):
    """Faults of the file, or ``errors`` in the request."""

    detail = serializers.CharField(required=False)
    total = serializers.IntegerField(required=False)
    faults = FaultSerializer(many=True, required=False, help_text="The first hundred.")
    errors = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField()), required=False
    )


class ErrorsSerializer(serializers.Serializer[Any]):
    errors = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField())
    )


class DetailSerializer(serializers.Serializer[Any]):
    detail = serializers.CharField()


class MaterialImportSerializer(serializers.Serializer[Any]):
    """``mapping`` and ``constants`` are JSON objects; in a form, as text. A file, or an upload and its size."""

    file = serializers.FileField(required=False)
    upload = serializers.CharField(required=False, help_text="The ticket of a file that was sent in pieces.")
    size = serializers.IntegerField(
        required=False, min_value=1, max_value=10**12, help_text="Of the upload, in bytes."
    )
    mapping = serializers.JSONField(required=False, help_text='{"question": "Input.question"}')
    constants = serializers.JSONField(required=False, help_text='{"system": "gpt-x"}')
    attributes = serializers.JSONField(
        required=False,
        help_text='["domain"]: your own columns, kept with the items for groups and filters of reports',
    )
    dry_run = serializers.BooleanField(required=False, default=False)

    def validate_mapping(self, value: Any) -> dict[str, str]:
        return texts_by_name(value)

    validate_constants = validate_mapping

    def validate_attributes(self, value: Any) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
            raise serializers.ValidationError("expected a JSON list of columns")
        return value


class MaterialImportedSerializer(serializers.Serializer[Any]):
    rows = serializers.IntegerField()
    items = serializers.IntegerField()
    unchanged = serializers.IntegerField(help_text="Items that were there already.")
    instances = serializers.IntegerField()
    systems = serializers.IntegerField()
    explanations = serializers.IntegerField()
    follow_ups = serializers.IntegerField()
    outputs = serializers.IntegerField()
    units = serializers.IntegerField()
    ignored = serializers.ListField(child=serializers.CharField(), help_text="Columns that are not used.")
    warnings = serializers.ListField(child=serializers.CharField())
    dry_run = serializers.BooleanField()


class UploadSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=150, help_text="The file's name. Its ending gives the format.")


class ReceivedSerializer(serializers.Serializer[Any]):
    received = serializers.IntegerField(help_text="Bytes so far, without a gap.")


class UploadBegunSerializer(ReceivedSerializer):
    upload = serializers.CharField(help_text="The upload's ticket.")
    piece_bytes = serializers.IntegerField(help_text="A size of pieces that gets through most proxies.")


class FileImportSerializer(serializers.ModelSerializer[FileImport]):
    problems = FaultSerializer(many=True, read_only=True, help_text="The first hundred.")
    result = serializers.DictField(read_only=True, help_text="What an import at once would have returned.")

    class Meta:
        model = FileImport
        fields = (
            "id", "kind", "name", "state", "size", "bytes_read", "result", "problem_count", "problems", "error",
            "created_at", "finished_at",
        )  # fmt: skip
        read_only_fields = fields


class ValueColumnSerializer(KnownKeysSerializer):
    column = serializers.CharField()
    name = serializers.CharField(required=False, default="", allow_blank=True)
    level = serializers.ChoiceField(
        ["nominal", "ordinal", "interval", "ratio"], required=False, default="nominal"
    )
    labels = serializers.ListField(child=serializers.CharField(), required=False, default=list)
    listed = serializers.ListField(child=serializers.CharField(), required=False, default=list)
    gold = serializers.CharField(required=False, default="", allow_blank=True)


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
class OneOrMore(serializers.ListField):
    """A name, or a list of names; the value is a tuple."""

    child = serializers.CharField()

    def __init__(self, **kwargs: Any):
        super().__init__(allow_empty=False, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        return tuple(super().to_internal_value([data] if isinstance(data, str) else data))


class JudgmentColumnsSerializer(KnownKeysSerializer):
    """What the file's columns mean; see docs/import.md."""

    item = OneOrMore()
    values = ValueColumnSerializer(many=True, required=False, default=list)
    counts = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        default=list,
        help_text="Instead of values, for a file with one row per item: a column per label, with its count, from low to high.",
    )
    level = serializers.ChoiceField(
        get_args(Level), required=False, default="nominal", help_text="Of the label counts."
    )
    rater = serializers.CharField(required=False, default="", allow_blank=True)
    rater_name = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)
    unnamed = serializers.BooleanField(required=False, default=False)
    seconds = serializers.CharField(required=False, default="", allow_blank=True)
    separator = serializers.CharField(required=False, default="|", max_length=5, trim_whitespace=False)
    skip_blank = serializers.BooleanField(required=False, default=False)
    recode = serializers.DictField(
        child=serializers.CharField(allow_blank=True), required=False, default=dict
    )
    aside = serializers.DictField(child=serializers.CharField(), required=False, default=dict)
    simulators = serializers.ListField(child=serializers.CharField(), required=False, default=list)
    show = serializers.ListField(child=serializers.CharField(), required=False, default=list)
    missing = serializers.ListField(child=serializers.CharField(), required=False, default=list)
    fold_case = serializers.BooleanField(required=False, default=False)
    cluster = serializers.CharField(required=False, default="", allow_blank=True)
    attributes = serializers.ListField(child=serializers.CharField(), required=False, default=list)
    rater_attributes = serializers.ListField(child=serializers.CharField(), required=False, default=list)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if bool(attrs["values"]) == bool(attrs["counts"]):
            raise serializers.ValidationError({"values": "expected values or counts, one of them"})
        given = [name for name in NOT_WITH_COUNTS if attrs.get(name)]
        if attrs["counts"] and given:
            raise serializers.ValidationError(dict.fromkeys(given, "a table of label counts takes none"))
        return attrs

    def columns(self) -> JudgmentColumns:
        data = dict(self.validated_data)
        level = data.pop("level")
        if data["counts"]:
            item = data["item"]
            return count_columns(
                item=(item,) if isinstance(item, str) else item,
                counts=data["counts"],
                level=level,
                cluster=data["cluster"],
                attributes=tuple(data["attributes"]),
                show=tuple(data["show"]),
            )
        values = tuple(
            ValueColumn(**{**value, "labels": tuple(value["labels"]), "listed": tuple(value["listed"])})
            for value in data.pop("values")
        )
        data["simulators"], data["show"] = frozenset(data["simulators"]), tuple(data["show"])
        for name in ("missing", "attributes", "rater_attributes", "counts"):
            data[name] = tuple(data[name])
        return JudgmentColumns(values=values, **data)


class JudgmentsImportSerializer(serializers.Serializer[Any]):
    """``columns`` is a JSON object (in a form, as text). A file, or an upload and its size."""

    file = serializers.FileField(required=False)
    upload = serializers.CharField(required=False, help_text="The ticket of a file that was sent in pieces.")
    size = serializers.IntegerField(
        required=False, min_value=1, max_value=10**12, help_text="Of the upload, in bytes."
    )
    columns = serializers.JSONField(
        help_text='{"item": "key", "rater": "WorkerId", "values": [{"column": "label"}]}'
    )
    dry_run = serializers.BooleanField(required=False, default=False)


class JudgmentsImportedSerializer(serializers.Serializer[Any]):
    rows = serializers.IntegerField()
    judgments = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    raters = serializers.IntegerField()
    items = serializers.IntegerField()
    variables = serializers.ListField(child=serializers.DictField())
    notes = serializers.ListField(child=serializers.CharField())
    dry_run = serializers.BooleanField()


class ItemSerializer(serializers.ModelSerializer[Item]):
    instance = serializers.CharField(source="instance.key", default="")  # type: ignore[assignment]
    system = serializers.CharField(source="explanation.system.name", default="")

    class Meta:
        model = Item
        fields = ("id", "key", "role", "condition", "instance", "system", "payload", "gold")


class JudgmentSerializer(serializers.ModelSerializer[Judgment]):
    item = serializers.CharField(source="item.key")
    rater = serializers.CharField(source="rater.name")
    rater_kind = serializers.CharField(source="rater.kind")
    rehearsal = serializers.BooleanField(source="rater.rehearsal")
    excluded = serializers.SerializerMethodField(help_text="Why it is left out; empty where it counts.")

    class Meta:
        model = Judgment
        fields = (
            "id", "item", "rater", "rater_kind", "rehearsal", "source", "standing", "seconds", "created_at",
            "excluded", "response",
        )  # fmt: skip

    def get_excluded(self, judgment: Judgment) -> str:
        return str(self.context["reasons"].of(judgment.pk, judgment.item_id, judgment.rater_id))


class ExclusionSerializer(serializers.ModelSerializer[Exclusion]):
    """Exactly one of ``rater`` (its name), ``item`` (its key), ``judgment`` (its id)."""

    rater = serializers.CharField(required=False, allow_null=True, source="rater.name", default=None)
    rater_kind = serializers.ChoiceField(["human", "simulator"], required=False, write_only=True)
    item = serializers.CharField(required=False, allow_null=True, source="item.key", default=None)
    judgment = serializers.IntegerField(required=False, allow_null=True, source="judgment_id", default=None)

    class Meta:
        model = Exclusion
        fields = ("id", "rater", "rater_kind", "item", "judgment", "reason", "created_at", "lifted_at")
        read_only_fields = ("created_at", "lifted_at")


class ExportSerializer(serializers.ModelSerializer[Export]):
    filters = serializers.DictField(
        child=serializers.CharField(), required=False, default=dict, help_text=f"Among: {', '.join(FILTERS)}."
    )

    class Meta:
        model = Export
        fields = (
            "id",
            "form",
            "format",
            "filters",
            "state",
            "rows",
            "bytes",
            "error",
            "created_at",
            "finished_at",
        )
        read_only_fields = ("state", "rows", "bytes", "error", "created_at", "finished_at")


def texts_by_name(value: Any) -> dict[str, str]:
    """A JSON object whose values are texts, under any names; raises ``ValidationError``."""
    if not isinstance(value, dict) or not all(isinstance(v, str) and v for v in value.values()):
        raise serializers.ValidationError("expected a JSON object {column: text}")
    return value
