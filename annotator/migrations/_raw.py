"""What the models can't declare; the initial migration ends with it."""

from django.db import migrations

from . import _money

_APPEND_ONLY = """
CREATE FUNCTION annotator_audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' AND NOT EXISTS (SELECT 1 FROM annotator_auditentry) THEN
        RETURN NULL;  -- restoring a backup empties the empty table first
    END IF;
    RAISE EXCEPTION 'the audit trail is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON annotator_auditentry
    FOR EACH ROW EXECUTE FUNCTION annotator_audit_append_only();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON annotator_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION annotator_audit_append_only();
"""
_NOT_APPEND_ONLY = """
DROP TRIGGER audit_append_only ON annotator_auditentry;
DROP TRIGGER audit_no_truncate ON annotator_auditentry;
DROP FUNCTION annotator_audit_append_only();
"""
OPERATIONS = [migrations.RunSQL(_APPEND_ONLY, _NOT_APPEND_ONLY), *_money.OPERATIONS]
