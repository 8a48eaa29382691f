/** The database function that writes a group in one call and one commit, without planning any statement twice. */
import { spentSql } from '../read-totals.ts';

/** Settlement of a picture whose name went to another scene after the database lost its record. */
const nameLost = JSON.stringify({
  state: 'expired',
  failure_kind: 'expired',
  failure_text: 'the database lost the record of its picture, and another picture has taken its name',
  scene_state: 'waiting',
  due_at: 1,
  next_seed: null,
});

/**
 * - `me`: the run; `nr`: number of the group; `g`: its writes by kind, each a list; returns a `GroupAnswer`
 * - Calls `next_version` first, so that groups are written one after another. This keeps the budget over all
 *   runners, and gives attempts their keys in the order of commits.
 * - If the answer to a group is lost, the group comes again, perhaps after later groups. Then the function only
 *   reads what became of it. Attempts that the run took over are not its claims, although their groups may have the
 *   same number.
 * - `seen`: what the runner remembers. If the database has less, it has gone back, and nothing is written
 *   (`writeBack`). `reclaim` is then how the runner writes back its claims. They keep their numbers, because
 *   attempts before and after them may not be back or settled yet. If the number is taken meanwhile, the
 *   scene was submitted again, and this attempt counts as unanswered.
 * - The owners of names are only read. A group that asks for nothing else writes nothing.
 * - Every write requires the right owner and state. The late write of a runner that others took for dead
 *   changes nothing.
 * - Without `enable_seqscan = off`, plans made for empty tables would be kept. `jit` would compile each plan
 *   again.
 */
export const writeGroupFunction = `
CREATE OR REPLACE FUNCTION write_group(me bigint, nr bigint, g json) RETURNS json LANGUAGE plpgsql
SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  _is_repeated boolean := false;
  _submitted bigint[]; _taken bigint[]; _settled bigint[]; _claimed json[] := '{}'; _keys bigint[]; _scenes bigint[];
  _claim json; _among text; _owners json; _is_held boolean; _scene scenes; _number bigint; _is_free boolean; _is_latest boolean; _conflicts bigint := 0;
BEGIN
  IF g->'seen' IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM account c, runners r JOIN runs u USING (run) WHERE r.run = me AND u.idempotency_key = g->'seen'->>'token'
      AND r.version >= (g->'seen'->>'own')::bigint AND c.version >= (g->'seen'->>'version')::bigint) THEN
    RETURN '{"isBehind": true, "claimed": []}';
  END IF;
  IF g->'owner' IS NOT NULL THEN
    SELECT json_agg(json_build_object('key', n.file_key, 'to', n.move_to, 'sceneId', s.id, 'fingerprint', s.fingerprint)) INTO _owners FROM (
      SELECT p.file_key, NULL AS move_to, p.attempt FROM json_to_recordset(g->'owner') AS x(key text) JOIN pictures p ON p.file_key = x.key
      UNION ALL SELECT w.file_key, NULL, a.attempt FROM json_to_recordset(g->'owner') AS x(key text)
        JOIN names w ON w.file_key = x.key JOIN attempts a USING (attempt) WHERE a.owner <> me
      UNION ALL SELECT NULL, p.move_to, p.attempt FROM pictures p WHERE p.move_to IS NOT NULL
    ) n JOIN attempts USING (attempt) JOIN scenes s USING (scene);
    IF NOT EXISTS (SELECT 1 FROM json_object_keys(g) AS k WHERE k NOT IN ('seen', 'owner', 'pictures')) THEN
      RETURN json_build_object('owners', _owners, 'claimed', _claimed);
    END IF;
  END IF;
  PERFORM next_version();
  UPDATE runners SET last_group = nr, version = current_setting('nightrender.version')::bigint WHERE run = me AND NOT is_dead AND last_group < nr;
  IF NOT FOUND THEN
    IF NOT EXISTS (SELECT 1 FROM runners WHERE run = me AND NOT is_dead) THEN RETURN '{"isLost": true}'; END IF;
    _is_repeated := true;
  END IF;

  IF g->'reclaim' IS NOT NULL AND _is_repeated THEN
    SELECT count(*) INTO _conflicts FROM json_array_elements(g->'reclaim') AS c WHERE NOT EXISTS (
      SELECT 1 FROM attempts WHERE attempt = (c.value->>'attempt')::bigint AND run = me AND write_group = nr);
  ELSIF g->'reclaim' IS NOT NULL THEN
    FOR _claim IN SELECT value FROM json_array_elements(g->'reclaim') LOOP
      SELECT * INTO _scene FROM scenes WHERE id = _claim->>'sceneId' AND fingerprint = _claim->>'fingerprint' ORDER BY state = 'withdrawn' LIMIT 1;
      IF NOT FOUND THEN
        _conflicts := _conflicts + 1;
        UPDATE account SET lost = lost + 1, untold = untold + 1, untimed = untimed + 1, jobs = jobs + 1, claimed = claimed + 1;
        CONTINUE;
      END IF;
      _number := (_claim->>'number')::bigint;
      _is_free := NOT EXISTS (SELECT 1 FROM attempts WHERE attempt = (_claim->>'attempt')::bigint OR scene = _scene.scene AND number = _number);
      _is_latest := _is_free AND _number > _scene.attempts AND _scene.state <> 'withdrawn';
      UPDATE scenes SET attempts = greatest(attempts, CASE WHEN _is_free THEN _number ELSE attempts + 1 END), state = CASE WHEN _is_latest THEN 'active' ELSE state END,
        due_at = CASE WHEN _is_latest THEN 0 ELSE due_at END WHERE scene = _scene.scene;
      IF _is_free THEN
        INSERT INTO attempts (attempt, scene, number, run, owner, write_group, state, base_url, endpoint_id, version, intended_at)
        VALUES ((_claim->>'attempt')::bigint, _scene.scene, _number, me, me, nr, 'intended', _claim->>'baseUrl', _claim->>'id',
          _claim->>'version', (_claim->>'at')::bigint);
      ELSE
        INSERT INTO attempts (scene, number, run, owner, write_group, state, base_url, endpoint_id, version, intended_at, settled_at, failure_kind, failure_text)
        VALUES (_scene.scene, _scene.attempts + 1, me, me, nr, 'unanswered', _claim->>'baseUrl', _claim->>'id', _claim->>'version',
          (_claim->>'at')::bigint, (_claim->>'at')::bigint, 'unanswered', 'the database lost the record of this submission, and the scene was submitted again before it was back');
        _conflicts := _conflicts + 1;
      END IF;
      UPDATE account SET jobs = jobs + 1, claimed = claimed + 1, untold = untold + CASE WHEN _is_free THEN 0 ELSE 1 END,
        untimed = untimed + CASE WHEN _is_free THEN 0 ELSE 1 END;
    END LOOP;
  END IF;

  IF g->'status' IS NOT NULL AND NOT _is_repeated THEN
    UPDATE attempts a SET status = x.status, executing_at = coalesce(a.executing_at, x."executingAt"),
      failure_kind = coalesce(x.held->>'kind', a.failure_kind), failure_text = coalesce(x.held->>'text', a.failure_text),
      failure_digest = CASE WHEN x.held IS NULL THEN a.failure_digest ELSE x.held->>'answer' END,
      completed_at = coalesce((x.held->>'completedAt')::bigint, a.completed_at)
    FROM json_to_recordset(g->'status') AS x(attempt bigint, status text, "executingAt" bigint, held json)
    WHERE a.attempt = x.attempt AND a.owner = me AND a.state = 'submitted';
  END IF;
  IF g->'hand' IS NOT NULL AND NOT _is_repeated THEN
    UPDATE attempts a SET in_hand = x."isInHand" FROM json_to_recordset(g->'hand') AS x(attempt bigint, "isInHand" boolean)
    WHERE a.attempt = x.attempt AND a.owner = me AND a.in_hand <> x."isInHand";
  END IF;
  IF g->'drop' IS NOT NULL AND NOT _is_repeated THEN
    WITH x AS (SELECT attempt FROM json_to_recordset(g->'drop') AS x(attempt bigint)),
    freed AS (DELETE FROM names n USING x WHERE n.attempt = x.attempt)
    UPDATE attempts a SET writing = NULL FROM x WHERE a.attempt = x.attempt AND a.owner = me;
  END IF;

  IF g->'submitted' IS NOT NULL THEN
    IF NOT _is_repeated THEN
      WITH x AS (SELECT * FROM json_to_recordset(g->'submitted') AS x(attempt bigint, "jobId" text, status text, at bigint,
        url text, endpoint text, kept text, checksum text))
      UPDATE attempts a SET state = 'submitted', job_id = x."jobId", status = x.status, submitted_at = x.at, kept = x.kept, checksum = x.checksum
      FROM x WHERE a.attempt = x.attempt AND a.owner = me AND a.state = 'intended'
        AND NOT EXISTS (SELECT 1 FROM attempts o WHERE o.job_id = x."jobId" AND o.base_url = x.url AND o.endpoint_id = x.endpoint)
        AND NOT EXISTS (SELECT 1 FROM x o WHERE o."jobId" = x."jobId" AND o.url = x.url AND o.endpoint = x.endpoint AND o.attempt < x.attempt);
    END IF;
    SELECT array_agg(a.attempt) INTO _submitted FROM attempts a
    JOIN json_to_recordset(g->'submitted') AS x(attempt bigint, "jobId" text) USING (attempt)
    WHERE a.owner = me AND a.job_id = x."jobId" AND (_is_repeated OR a.state = 'submitted');
  END IF;

  IF g->'writing' IS NOT NULL AND _is_repeated THEN
    SELECT array_agg(a.attempt) INTO _taken FROM json_to_recordset(g->'writing') AS w(attempt bigint, writing text)
    JOIN attempts a USING (attempt) WHERE a.owner = me AND a.state = 'submitted' AND a.writing IS DISTINCT FROM w.writing;
  ELSIF g->'writing' IS NOT NULL THEN
    WITH mine AS (
      SELECT x.attempt, x.file_key, a.scene FROM json_to_recordset(g->'names') AS x(attempt bigint, file_key text) JOIN attempts a USING (attempt)
    ), taken AS (
      SELECT DISTINCT m.attempt FROM mine m CROSS JOIN LATERAL (
        SELECT attempt FROM names n WHERE n.file_key = m.file_key UNION ALL SELECT attempt FROM pictures p WHERE p.file_key = m.file_key) n
      JOIN attempts o ON o.attempt = n.attempt WHERE o.scene <> m.scene
    ), named AS (
      INSERT INTO names (file_key, attempt) SELECT file_key, attempt FROM mine WHERE attempt NOT IN (SELECT attempt FROM taken)
      ON CONFLICT (file_key) DO UPDATE SET attempt = excluded.attempt
    ), begun AS (
      UPDATE attempts a SET writing = w.writing FROM json_to_recordset(g->'writing') AS w(attempt bigint, writing text)
      WHERE a.attempt = w.attempt AND a.owner = me AND a.state = 'submitted' AND a.attempt NOT IN (SELECT attempt FROM taken)
    )
    SELECT array_agg(attempt) INTO _taken FROM taken;
  END IF;

  IF g->'settle' IS NOT NULL AND NOT _is_repeated THEN
    SELECT array_agg(p.attempt) INTO _keys FROM json_to_recordset(g->'pictures') AS p(attempt bigint, file_key text) JOIN pictures USING (file_key);
    IF _keys IS NOT NULL THEN
      g := g::jsonb || jsonb_build_object(
        'settle', (SELECT jsonb_agg(CASE WHEN (e->>'attempt')::bigint = ANY(_keys) THEN e || '${nameLost}'::jsonb ELSE e END) FROM jsonb_array_elements(g::jsonb->'settle') AS e),
        'pictures', (SELECT coalesce(jsonb_agg(e), '[]') FROM jsonb_array_elements(g::jsonb->'pictures') AS e WHERE (e->>'attempt')::bigint <> ALL(_keys)));
    END IF;
    WITH x AS (
      SELECT * FROM json_to_recordset(g->'settle') AS x(attempt bigint, before text, state text, at bigint, completed_at bigint,
        status text, polls bigint, delay_time_ms bigint, execution_time_ms bigint, cost double precision, cost_from text, failure_kind text, failure_text text,
        failure_digest text, scene_state text, due_at bigint, scene_failure_kind text, scene_failure_text text, next_seed text)
    ), settled AS (
      UPDATE attempts a SET state = x.state, settled_at = x.at, completed_at = x.completed_at,
        status = coalesce(x.status, a.status), polls = a.polls + x.polls, delay_time_ms = x.delay_time_ms,
        execution_time_ms = x.execution_time_ms, cost = x.cost, cost_from = x.cost_from, failure_kind = x.failure_kind, failure_text = x.failure_text,
        failure_digest = x.failure_digest, writing = NULL, in_hand = false
      FROM x WHERE a.attempt = x.attempt AND a.owner = me AND a.state = x.before
      RETURNING a.attempt, a.scene, a.number, a.state, a.submitted_at, a.executing_at, a.completed_at, a.settled_at,
        a.execution_time_ms, a.failure_kind
    ), moved AS (
      UPDATE scenes c SET state = x.scene_state, due_at = x.due_at, failure_kind = x.scene_failure_kind, failure_text = x.scene_failure_text
      FROM settled JOIN x USING (attempt) WHERE c.scene = settled.scene AND c.state = 'active'
        AND NOT EXISTS (SELECT 1 FROM attempts o WHERE o.scene = settled.scene AND o.number > settled.number AND o.state IN ('intended', 'submitted'))
      RETURNING x.next_seed
    ), followed AS (
      UPDATE scenes c SET state = 'waiting', due_at = 1 FROM moved WHERE c.id = moved.next_seed AND c.state = 'unneeded' AND c.due_at = 0
    ), freed AS (
      DELETE FROM names n USING settled WHERE n.attempt = settled.attempt
    ), added AS (
      INSERT INTO pictures (attempt, number, name, file, file_key, width, height, bytes, sha256, seed, label, output)
      SELECT p.attempt, p.number, p.name, p.file, p.file_key, p.width, p.height, p.bytes, p.sha256, p.seed, p.label, p.output
      FROM json_to_recordset(g->'pictures') AS p(attempt bigint, number bigint, name text, file text, file_key text, width bigint,
        height bigint, bytes bigint, sha256 text, seed text, label text, output text) JOIN settled USING (attempt)
    ), counted AS (
      UPDATE account c SET jobs = c.jobs - (SELECT count(*) FROM settled WHERE state = 'refused'),
        executed_ms = c.executed_ms + s."executedMs", untold = c.untold + s.untold, untimed = c.untimed + s.untimed
      FROM (SELECT ${spentSql().sums} FROM settled) AS s
    )
    SELECT array_agg(attempt) INTO _settled FROM settled;
  END IF;

  IF g->'claim' IS NOT NULL AND NOT _is_repeated THEN
    SELECT claims_from > clock_timestamp() INTO _is_held FROM account;
    IF _is_held IS NOT TRUE THEN
      UPDATE account SET lost = lost + greatest(0, claimed_seen - claimed), untold = untold + greatest(0, claimed_seen - claimed), untimed = untimed + greatest(0, claimed_seen - claimed),
        jobs = jobs + greatest(0, claimed_seen - claimed), claimed = greatest(claimed, claimed_seen), claimed_seen = 0, claims_from = NULL
      WHERE claims_from IS NOT NULL;
    END IF;
  END IF;
  FOR _claim IN SELECT value FROM json_array_elements(g->'claim') LOOP
    IF _is_repeated AND cardinality(_claimed) = 0 THEN
      SELECT array_agg(attempt ORDER BY attempt) INTO _keys FROM attempts WHERE owner = me AND run = me AND write_group = nr AND state = 'intended';
    ELSIF _is_repeated OR _is_held THEN
      _keys := '{}';
    ELSE
      _among := CASE WHEN (_claim->>'isPart')::boolean THEN 'AND scene IN (SELECT scene FROM parts WHERE run = $3)' ELSE 'AND $3 > 0' END;
      IF (_claim->>'isSuspect')::boolean THEN
        EXECUTE format('SELECT array(SELECT scene FROM scenes WHERE deaths >= %s AND state = ''waiting'' %s AND $2 > 0 LIMIT $1)', _claim->>'suspectDeaths', _among)
        INTO _scenes USING (_claim->>'max')::bigint, (_claim->>'dueBy')::bigint, me;
      ELSE
        EXECUTE format('SELECT array(SELECT scene FROM scenes WHERE state = ''waiting'' AND due_at > 0 AND due_at <= $2 AND deaths < %s %s ORDER BY due_at LIMIT $1)', _claim->>'suspectDeaths', _among)
        INTO _scenes USING (_claim->>'max')::bigint, (_claim->>'dueBy')::bigint, me;
        EXECUTE format('SELECT $4 || array(SELECT scene FROM scenes WHERE state = ''waiting'' AND due_at = 0 %s AND $2 > 0 ORDER BY position LIMIT $1 - cardinality($4))', _among)
        INTO _scenes USING (_claim->>'max')::bigint, (_claim->>'dueBy')::bigint, me, _scenes;
      END IF;
      UPDATE scenes SET state = 'active', attempts = attempts + 1, due_at = 0, failure_kind = NULL, failure_text = NULL
      WHERE scene = ANY(_scenes);
      WITH intended AS (
        INSERT INTO attempts (scene, number, run, owner, write_group, state, base_url, endpoint_id, version, intended_at)
        SELECT s.scene, s.attempts, me, me, nr, 'intended', _claim->>'baseUrl', _claim->>'id', _claim->>'version', (_claim->>'at')::bigint
        FROM unnest(_scenes) WITH ORDINALITY AS u(scene, place) JOIN scenes s USING (scene) ORDER BY u.place RETURNING attempt
      )
      SELECT array_agg(attempt ORDER BY attempt) INTO _keys FROM intended;
      UPDATE account SET jobs = jobs + coalesce(cardinality(_keys), 0), claimed = claimed + coalesce(cardinality(_keys), 0);
    END IF;
    _claimed := _claimed || to_json(coalesce(_keys, '{}'));
  END LOOP;

  RETURN json_build_object('isRepeated', _is_repeated, 'submitted', _submitted, 'taken', _taken, 'settled', _settled, 'claimed', _claimed,
    'owners', _owners, 'conflicts', _conflicts, 'own', (SELECT version FROM runners WHERE run = me),
    'version', current_setting('nightrender.version')::bigint, 'batchClaimed', (SELECT claimed FROM account), 'hasMore', g->'claim' IS NOT NULL AND EXISTS (SELECT 1 FROM scenes WHERE state = 'waiting' AND due_at = 0));
END $$;
`;

export interface NameOwner {
  sceneId: string;
  fingerprint: string;
}

export interface GroupAnswer {
  /** Others have taken over what this run had, so nothing was written. */
  isLost?: true;
  /** The database has gone back behind what this run remembers, so nothing was written. */
  isBehind?: true;
  isRepeated: boolean;
  /** Keys of the attempts whose submission is recorded. */
  submitted: number[] | null;
  /** Keys of attempts of which another scene has a file name. */
  taken: number[] | null;
  settled: number[] | null;
  claimed: number[][];
  /** Owners of the requested names, and scenes whose pictures are about to be moved to the name `to`. */
  owners: ({ key: string | null; to: string | null } & NameOwner)[] | null;
  /** Number of claims that could not be written back unchanged. */
  conflicts: number;
  /** As in `Seen`. Absent if nothing was to be written. */
  own?: number;
  version: number;
  batchClaimed: number;
  /** True if there are more scenes that were never submitted. */
  hasMore: boolean;
}
