"""The shapes of requests and responses of the API. The rules are in the services."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotator.core.known_keys import KnownKeys
from annotator.models import Exclusion, Export, Item, Judgment, Study, description_of, settings_of
from annotator.selectors.judgment import FILTERS

SETTINGS = settings_of(Study)
#: The help of a list of ids.
IDS = "Their ids."
#: The settings that the API can change; all other fields of a study are read-only.
SETTABLE = tuple(name for name, setting in SETTINGS.items() if setting.api)


class StudySerializer(KnownKeys, serializers.ModelSerializer[Study]):
    role = serializers.SerializerMethodField(help_text="Your role in it.")

    class Meta:
        model = Study
        fields = ("state", "role", *SETTINGS, "created_at", "launched_at", "closed_at")
        read_only_fields = tuple(name for name in fields if name not in SETTABLE)
        extra_kwargs = {name: {"help_text": description_of(Study, name)} for name in SETTABLE}

    def get_role(self, study: Study) -> str:
        return getattr(study, "my_role", None) or "superuser"


class StudyCreateSerializer(StudySerializer):
    template = serializers.CharField(
        write_only=True,
        help_text="A HIT type's name, or name and variant such as rationale_properties/support; see /hit-types/. For a type of your"
        " workspaces its name, or 7:name with the number of the workspace; the study then belongs to that workspace.",
    )

    class Meta(StudySerializer.Meta):
        fields = ("template", *StudySerializer.Meta.fields)
        read_only_fields = tuple(name for name in StudySerializer.Meta.read_only_fields if name != "slug")


class ProgressSerializer(serializers.Serializer[Any]):
    items = serializers.IntegerField()
    gold = serializers.IntegerField()
    attention = serializers.IntegerField()
    places = serializers.IntegerField()
    done = serializers.IntegerField()
    done_excluded = serializers.IntegerField(
        help_text="Done places with an excluded judgment, which isn't replaced."
    )
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
    pay_per_hour = serializers.FloatField(
        allow_null=True,
        help_text="At the median time for a task, with the time before the first task and the tasks that one person can do.",
    )
    pay_per_hour_planned = serializers.FloatField(help_text="The same at the estimated time for a task.")
    tasks_each = serializers.IntegerField(help_text="The most tasks that one person can do.")
    earns_most = serializers.FloatField(help_text="What one person earns with all of them and the exam.")
    minutes_most = serializers.FloatField(
        help_text="How long that takes, with everything before the first task."
    )
    people_needed = serializers.IntegerField(help_text="The fewest participants who can fill all places.")
    places_out_of_reach = serializers.IntegerField(
        help_text="Free places that nobody who has joined may take."
    )
    people_missing = serializers.IntegerField(
        help_text="The fewest further participants whom these places need."
    )
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
    version = serializers.CharField(
        help_text="A number, or the first 12 digits of the digest of the file in which the type is declared."
    )
    title = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    external = serializers.BooleanField(help_text="Labels are collected elsewhere and imported.")
    headline = serializers.CharField()
    variables = VariableSerializer(many=True)
    columns = ColumnSerializer(many=True)


class ImageSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
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


class ExclusionSerializer(KnownKeys, serializers.ModelSerializer[Exclusion]):
    """Exactly one of ``rater`` (its name), ``item`` (its key), ``judgment`` (its id)."""

    rater = serializers.CharField(required=False, allow_null=True, source="rater.name", default=None)
    rater_kind = serializers.ChoiceField(["human", "simulator"], required=False, write_only=True)
    item = serializers.CharField(required=False, allow_null=True, source="item.key", default=None)
    judgment = serializers.IntegerField(required=False, allow_null=True, source="judgment_id", default=None)
    collect_again = serializers.BooleanField(
        required=False, default=False, help_text="Ask other people in place of the excluded judgments."
    )
    places_opened = serializers.SerializerMethodField(
        help_text="Places that were opened for other people, less those that were closed when the exclusion was lifted."
    )

    class Meta:
        model = Exclusion
        fields = (
            "id", "rater", "rater_kind", "item", "judgment", "reason", "collect_again", "places_opened", "created_at",
            "lifted_at",
        )  # fmt: skip
        read_only_fields = ("created_at", "lifted_at")

    def get_places_opened(self, exclusion: Exclusion) -> int:
        counted = getattr(exclusion, "opened", None)  # of a list
        return exclusion.replacements.count() if counted is None else int(counted)


class ExportSerializer(KnownKeys, serializers.ModelSerializer[Export]):
    filters = serializers.DictField(
        child=serializers.CharField(), required=False, default=dict, help_text=f"Among: {', '.join(FILTERS)}."
    )

    class Meta:
        model = Export
        fields = (
            "id", "form", "format", "filters", "state", "rows", "bytes", "error", "created_at", "finished_at",
        )  # fmt: skip
        read_only_fields = ("state", "rows", "bytes", "error", "created_at", "finished_at")
