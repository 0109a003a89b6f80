"""What the models can't declare; the initial migration ends with it."""

from django.db import migrations

# A sealed plan goes only with its study, once that is deleted.
_SEAL = """
CREATE FUNCTION evaluation_plan_is_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.sealed_at IS NULL THEN
        RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT 1 FROM annotator_study WHERE id = OLD.study_id AND deleted_at IS NULL) THEN
            RAISE EXCEPTION 'a sealed analysis plan cannot be deleted' USING ERRCODE = 'insufficient_privilege';
        END IF;
        RETURN OLD;
    END IF;
    IF (NEW.study_id, NEW.document, NEW.design, NEW.digest, NEW.sealed_at)
        IS DISTINCT FROM (OLD.study_id, OLD.document, OLD.design, OLD.digest, OLD.sealed_at) THEN
        RAISE EXCEPTION 'a sealed analysis plan cannot be changed' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER analysis_plan_sealed BEFORE UPDATE OR DELETE ON evaluation_analysisplan
    FOR EACH ROW EXECUTE FUNCTION evaluation_plan_is_sealed();
"""
_UNSEAL = """
DROP TRIGGER analysis_plan_sealed ON evaluation_analysisplan;
DROP FUNCTION evaluation_plan_is_sealed();
"""
OPERATIONS = [migrations.RunSQL(_SEAL, _UNSEAL)]
