"""The rules of the ledger that the models can't declare; ``_raw`` adds them to the initial migration.

An entry is added or undone, and never changed or deleted: only an erasure replaces the person and the words, and entries go with a study that
is deleted for good. Nobody's payments exceed what they have earned in the study (accepted judgments at the pay of their version, exams,
and the other entries), rounded to cents half up, as ``selectors.owed`` rounds. Whoever changes a study's balances waits for the others at an
advisory lock of the study, so that two payments at once can't both see the same balance. A backup that is restored and a release that is
imported bring entries before what they are earned by; they say so for their transaction (``services.ledger_copy``).
"""

from django.db import migrations

_LEDGER = """
CREATE FUNCTION annotator_ledger_balance(of_study bigint, of_rater bigint) RETURNS numeric LANGUAGE sql VOLATILE AS $$
    SELECT coalesce((
            SELECT sum(n * (s.content->>'pay_per_item')::numeric) FROM (
                SELECT j.snapshot_id, count(*) AS n FROM annotator_judgment j JOIN annotator_review v ON v.judgment_id = j.id
                WHERE j.study_id = of_study AND j.rater_id = of_rater AND j.source = 'web' GROUP BY j.snapshot_id
            ) accepted JOIN annotator_snapshot s ON s.id = accepted.snapshot_id), 0)
        + coalesce((
            SELECT sum(e.pay) FROM annotator_examattempt e JOIN annotator_participation p ON p.id = e.participation_id
            WHERE p.study_id = of_study AND p.rater_id = of_rater), 0)
        + coalesce((
            SELECT sum(CASE WHEN l.kind = 'payment' THEN -l.amount ELSE l.amount END) FROM annotator_ledgerentry l
            WHERE l.study_id = of_study AND l.rater_id = of_rater AND l.undone_at IS NULL), 0)
$$;

CREATE FUNCTION annotator_ledger_rules() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    balance numeric;
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT 1 FROM annotator_study s WHERE s.id = OLD.study_id AND s.deleted_at IS NULL) THEN
            RAISE EXCEPTION 'the ledger is append-only: DELETE is refused'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_append_only', TABLE = 'annotator_ledgerentry';
        END IF;
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND ((OLD.study_id, OLD.kind, OLD.amount, OLD.reference, OLD.created_at) IS DISTINCT FROM
            (NEW.study_id, NEW.kind, NEW.amount, NEW.reference, NEW.created_at)
            OR OLD.created_by_id IS DISTINCT FROM NEW.created_by_id
            OR (OLD.undone_at IS NOT NULL AND (OLD.undone_at, OLD.undone_by_id) IS DISTINCT FROM (NEW.undone_at, NEW.undone_by_id))) THEN
        RAISE EXCEPTION 'the ledger is append-only: an entry can only be undone'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_append_only', TABLE = 'annotator_ledgerentry';
    END IF;
    IF TG_OP = 'INSERT' AND current_setting('foretell.ledger_copied', true) = 'on' THEN
        RETURN NEW;
    END IF;
    IF (TG_OP = 'INSERT' AND NEW.kind = 'payment' AND NEW.undone_at IS NULL)
            OR (TG_OP = 'UPDATE' AND NEW.kind <> 'payment' AND OLD.undone_at IS NULL AND NEW.undone_at IS NOT NULL) THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('annotator ledger ' || NEW.study_id, 0));
        balance := round(annotator_ledger_balance(NEW.study_id, NEW.rater_id), 2);
        IF NEW.amount > balance AND NOT (TG_OP = 'UPDATE' AND NEW.amount - balance < 0.005) THEN
            RAISE EXCEPTION 'rater % is owed % in study %, so % is refused', NEW.rater_id, balance, NEW.study_id, NEW.amount
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_paid_within_earned', TABLE = 'annotator_ledgerentry';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER ledger_rules BEFORE INSERT OR UPDATE OR DELETE ON annotator_ledgerentry
    FOR EACH ROW EXECUTE FUNCTION annotator_ledger_rules();
"""
_WITHOUT = """
DROP TRIGGER ledger_rules ON annotator_ledgerentry;
DROP FUNCTION annotator_ledger_rules();
DROP FUNCTION annotator_ledger_balance(bigint, bigint);
"""
OPERATIONS = [migrations.RunSQL(_LEDGER, _WITHOUT)]
