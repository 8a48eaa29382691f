/** Promise: results of PostgreSQL are returned, and a failure says whether to retry or to ask a person. */
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  parsePostgresAddress,
  Postgres,
  PostgresFailure,
  quoted,
} from '../../../src/lib/postgres/postgres.ts';
import { isWhole } from '../../fakes/tier.ts';
import { PostgresFake } from '../../fakes/postgres-server.ts';

const limits = { connectMs: 30_000, silentMs: 60_000 };

async function open(server: PostgresFake, its: object = {}): Promise<Postgres> {
  const db = await Postgres.open(server.address, { ...limits, ...its });
  onTestFinished(() => db.close());
  return db;
}

it('hands rows on, with counts as numbers', async () => {
  const server = await PostgresFake.start((text) => ({ rows: [{ name: text, many: '9007199254740991' }] }));
  const db = await open(server);
  expect(await db.query('SELECT 1')).toEqual([{ name: 'SELECT 1', many: 9007199254740991 }]);
  expect(await db.query('SELECT $1', ['a'])).toEqual([{ name: 'SELECT $1', many: 9007199254740991 }]);
  expect(server.made).toBe(1);
  expect(db.shown).toMatch(/^127\.0\.0\.1:\d+\/night$/);
});

describe('a transaction', () => {
  it('is committed, and returns its result', async () => {
    const server = await PostgresFake.start();
    const db = await open(server);
    const done = await db.transaction(async (session) => {
      await session.query('INSERT');
      return 'done';
    }, 'ISOLATION LEVEL SERIALIZABLE');
    expect([done, server.log]).toEqual([
      'done',
      [
        'BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL idle_in_transaction_session_timeout = 60000',
        'INSERT',
        'COMMIT',
      ],
    ]);
  });

  it('is undone if it fails, whatever becomes of that', async () => {
    const server = await PostgresFake.start((text) =>
      text === 'ROLLBACK' ? { code: 'XX000', message: 'no' } : undefined,
    );
    const db = await open(server);
    const failing = db.transaction(() => Promise.reject(new Error('a bug')));
    await expect(failing).rejects.toThrow('a bug');
    expect(server.log.slice(1)).toEqual(['ROLLBACK']);
    await db.query('SELECT 1');
    expect(server.made).toBe(1);
  });

  it('is not undone on a connection that is gone, which is replaced', async () => {
    const server = await PostgresFake.start((text) =>
      text === 'INSERT' ? { code: '57P01', message: 'terminating' } : undefined,
    );
    const db = await open(server);
    const failing = db.transaction((session) => session.query('INSERT'));
    await expect(failing).rejects.toMatchObject({ kind: 'gone' });
    expect(server.log.slice(1)).toEqual(['INSERT']);
    await db.query('SELECT 1');
    expect(server.made).toBe(2);
  });
});

describe('a failure', () => {
  it.each([
    ['57P03', 'starting up', 'gone', 'cannot be reached (starting up)'],
    ['53300', 'too many connections', 'gone', 'cannot be reached (too many connections)'],
    ['40001', 'could not serialize', 'gone', 'cannot be reached'],
    ['28P01', 'password failed', 'wrong', 'rejects this (password failed)'],
    ['3D000', 'no database', 'wrong', 'rejects this (no database)'],
  ])('%s is as it says, at the beginning and later', async (code, message, kind, words) => {
    const server = await PostgresFake.start(() => ({ code, message }));
    const failure = { kind, message: expect.stringMatching(/^the database 127.0.0.1:\d+\/night /) as string };
    for (const refusal of [undefined, { code, message }]) {
      server.refusal = refusal;
      const asking = (await open(server)).query('SELECT 1');
      await expect(asking).rejects.toMatchObject(failure);
      await expect(asking).rejects.toThrow(words);
      await expect(asking).rejects.not.toThrow('secret');
    }
  });

  it('is an error of ours if the statement is wrong', async () => {
    const server = await PostgresFake.start(() => ({ code: '42601', message: 'syntax error' }));
    const asking = (await open(server)).query('SELEC 1');
    await expect(asking).rejects.not.toBeInstanceOf(PostgresFailure);
    await expect(asking).rejects.toThrow('syntax error');
  });

  it('says that the server cannot be reached if no server listens', async () => {
    const server = await PostgresFake.start();
    const { address } = server;
    server.stop();
    const db = await Postgres.open(address, limits);
    onTestFinished(() => db.close());
    await expect(db.query('SELECT 1')).rejects.toMatchObject({ kind: 'gone' });
    await expect(db.keptSession()).rejects.toMatchObject({ kind: 'gone' });
    const nowhere = await Postgres.open(parsePostgresAddress('postgres://[::1]:1/d', []), limits);
    await expect(nowhere.query('SELECT 1')).rejects.toThrow('the database [::1]:1/d cannot be reached (');
    await nowhere.close();
  });

  it('comes of waiting too long for an answer, if there is a limit', async () => {
    const server = await PostgresFake.start((text) => (text === 'SLOW' ? 'nothing' : undefined));
    const db = await open(server, { answerMs: 50 });
    await expect(db.query('SLOW')).rejects.toMatchObject({ kind: 'gone' });
    expect(await db.query('SELECT 1')).toEqual([]);
  });
});

it('replaces an idle connection that broke, and reports it', async () => {
  const server = await PostgresFake.start();
  const db = await open(server);
  let broken = 0;
  db.onBroken = () => void (broken += 1);
  await db.query('SELECT 1');
  for (const socket of server.connections.values()) socket.destroy();
  await expect.poll(() => broken).toBe(1);
  await db.query('SELECT 2');
  expect(server.made).toBe(2);
});

it('fails waiting statements when it is cut', async () => {
  const server = await PostgresFake.start((text) => (text === 'SLOW' ? 'nothing' : undefined));
  const db = await open(server);
  const waiting = [db.query('SLOW'), db.query('SLOW')].map((asked) =>
    expect(asked).rejects.toMatchObject({ kind: 'gone' }),
  );
  await expect.poll(() => server.log.length).toBe(2);
  db.cut();
  await Promise.all(waiting);
  expect(await db.query('SELECT 1')).toEqual([]);
});

describe('a session that is kept', () => {
  it('has a connection of its own until it ends', async () => {
    const server = await PostgresFake.start((text) => ({ rows: [{ text }] }));
    const db = await open(server);
    const session = await db.keptSession();
    expect(await session.query('SELECT 1')).toEqual([{ text: 'SELECT 1' }]);
    for (let time = 0; time < 2; time++)
      expect(await session.query('SELECT $1', ['a'], 'named')).toEqual([{ text: 'SELECT $1' }]);
    await db.query('SELECT 2');
    expect([server.made, session.ended.aborted]).toEqual([2, false]);
    session.end();
    await expect.poll(() => session.ended.aborted).toBe(true);
    await expect(session.query('SELECT 1')).rejects.toMatchObject({ kind: 'gone' });
  });

  it('knows when it is broken', async () => {
    const server = await PostgresFake.start();
    const session = await (await open(server)).keptSession();
    for (const socket of server.connections.values()) socket.destroy();
    await expect.poll(() => session.ended.aborted).toBe(true);
  });

  it('fails if it is refused', async () => {
    const server = await PostgresFake.start();
    server.refusal = { code: '28P01', message: 'password failed' };
    await expect((await open(server)).keptSession()).rejects.toMatchObject({ kind: 'wrong' });
    await expect.poll(() => server.connections.size).toBe(0);
  });
});

describe('a statement that is not answered', () => {
  /** A new connection must be answered within half of this time. */
  const lookedForMs = isWhole ? 2_000 : 500;

  /** Starts a server that never answers `SLOW`. It reports `SLOW, AT WORK` as still running. */
  async function slow(deadMs: number) {
    const atWork = new Set<number>();
    const looks: number[] = [];
    const server = await PostgresFake.start((text, number) => {
      if (text === 'SLOW, AT WORK') atWork.add(number);
      if (text.startsWith('SLOW')) return 'nothing';
      if (!text.includes('pg_stat_activity')) return undefined;
      looks.push(number);
      return { rows: [...atWork, number].map((pid) => ({ pid: String(pid) })) };
    });
    const db = await open(server, { deadMs });
    return { server, db, atWork, looks };
  }

  it('fails as gone if the server does not work on it, and another waits on', async () => {
    const { db, atWork, looks } = await slow(lookedForMs);
    const dead = expect(db.query('SLOW')).rejects.toMatchObject({ kind: 'gone' });
    let isOver = false;
    const working = db.query('SLOW, AT WORK').finally(() => (isOver = true));
    await dead;
    const seen = looks.length;
    await expect.poll(() => looks.length).toBeGreaterThan(seen + 1);
    expect(isOver).toBe(false);
    atWork.clear();
    await expect(working).rejects.toMatchObject({ kind: 'gone' });
    expect(await db.query('SELECT 1')).toEqual([]);
  });

  it('fails as gone if a new connection is not answered either', async () => {
    const { server, db } = await slow(100);
    const asked = db.query('SLOW');
    const dead = expect(asked).rejects.toMatchObject({ kind: 'gone' });
    await expect.poll(() => server.log.length).toBe(1);
    server.refusal = 'nothing';
    await dead;
  });

  it('is waited for if the server says that it is full', async () => {
    const { server, db } = await slow(lookedForMs);
    let isOver = false;
    const asked = db.query('SLOW').finally(() => (isOver = true));
    await expect.poll(() => server.log.length).toBe(1);
    server.refusal = { code: '53300', message: 'too many' };
    await expect.poll(() => server.made).toBeGreaterThan(3);
    expect(isOver).toBe(false);
    db.cut();
    await expect(asked).rejects.toMatchObject({ kind: 'gone' });
  });

  it('is soon given up once nobody waits long', async () => {
    const { db } = await slow(3_600_000);
    db.shortenWaits(100);
    await expect(db.query('SLOW')).rejects.toMatchObject({ kind: 'gone' });
  });
});

it('a pool does not wait at its end for a server that does not answer', async () => {
  const server = await PostgresFake.start((text) => (text === 'SLOW' ? 'nothing' : undefined));
  const db = await Postgres.open(server.address, { ...limits, farewellMs: 50 });
  const asked = expect(db.query('SLOW')).rejects.toMatchObject({ kind: 'gone' });
  await expect.poll(() => server.log.length).toBe(1);
  await db.close();
  await asked;
});

it('quotes names', () => {
  expect([quoted('night'), quoted('a"b')]).toEqual(['"night"', '"a""b"']);
});
