"""The shapes of imports over the API: what is sent, and what it wrote."""

from __future__ import annotations

from typing import Any, get_args

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotator.api.serializers import FaultSerializer
from annotator.core.known_keys import KnownKeysSerializer
from annotator.hit_types.base import Level
from annotator.models import FileImport
from annotator.services.imports.label_counts import NOT_WITH_COUNTS, count_columns
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn


class MaterialImportSerializer(KnownKeysSerializer):
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


class UploadSerializer(KnownKeysSerializer):
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
    decimal_comma = serializers.BooleanField(
        required=False, default=False, help_text="Numbers have a decimal comma: 2,5."
    )
    gold = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="Column of the correct label, of the label counts.",
    )
    cluster = serializers.CharField(required=False, default="", allow_blank=True)
    attributes = serializers.ListField(child=serializers.CharField(), required=False, default=list)
    rater_attributes = serializers.ListField(child=serializers.CharField(), required=False, default=list)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if bool(attrs["values"]) == bool(attrs["counts"]):
            raise serializers.ValidationError({"values": "expected values or counts, one of them"})
        given = [name for name in NOT_WITH_COUNTS if attrs.get(name)]
        if attrs["counts"] and given:
            raise serializers.ValidationError(dict.fromkeys(given, "a table of label counts takes none"))
        if attrs["values"] and attrs["gold"]:
            raise serializers.ValidationError({"gold": "expected with each of the values instead"})
        return attrs

    def columns(self) -> JudgmentColumns:
        data = dict(self.validated_data)
        level, gold = data.pop("level"), data.pop("gold")
        if data["counts"]:
            item = data["item"]
            return count_columns(
                item=(item,) if isinstance(item, str) else item,
                counts=data["counts"],
                level=level,
                gold=gold,
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


class JudgmentsImportSerializer(KnownKeysSerializer):
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


def texts_by_name(value: Any) -> dict[str, str]:
    """A JSON object whose values are texts, under any names; raises ``ValidationError``."""
    if not isinstance(value, dict) or not all(isinstance(v, str) and v for v in value.values()):
        raise serializers.ValidationError("expected a JSON object {column: text}")
    return value
