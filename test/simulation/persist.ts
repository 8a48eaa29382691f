/**
 * Acts as a person whose start was refused: follows what the message says, again and again. A message that leads in a
 * circle is a bug.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Chance } from '../faults/chance.ts';
import type { NightRules } from './night-rules.ts';
import type { Outcome, Start } from './start.ts';

export interface Person {
  out: string;
  rules: NightRules;
  chance: Chance;
  /** True if `out` is damaged. `out.before` then holds an undamaged copy. */
  isDamaged: () => boolean;
  emit: (line: string) => void;
  tellWrong: (sentence: string) => void;
  once: (asked: Start) => Promise<Outcome>;
}

/** Ways out that messages name. */
const ways = {
  acceptLoss: /run <pipeline> --accept-loss/,
  'allow-fewer': /--allow-fewer/,
  adopt: /--adopt/,
  fresh: /--fresh/,
  repair: /--repair/,
  makeFolder: /create an empty folder/,
  removeLock: /\.lock\.sqlite is damaged.*remove it/,
  moveAway: /cannot rename (\S+) to \S+: another file has that name; move one of them away/,
  putBack: /Put (a copy|a copy of it|it|the right file|both files) back/,
};
type Way = keyof typeof ways;

export async function persist(
  person: Person,
  asked: Start,
  followed: ReadonlySet<Way> = new Set(),
): Promise<Outcome> {
  const outcome = await person.once(asked);
  if (outcome.kind !== 'refused' && outcome.exitCode !== damagedExitCode) return outcome;
  const named = (Object.keys(ways) as Way[]).filter((way) => ways[way].test(outcome.words));
  const circle = named.find((way) => !manyTimes.has(way) && followed.has(way));
  if (circle !== undefined)
    person.tellWrong(`${circle} was done as the words say, and they say so again: ${outcome.words}`);
  const isAsItWas = followed.size === 0 && person.isDamaged() && existsSync(`${person.out}.before`);
  const open = named.filter((way) => way !== 'putBack' || isAsItWas);
  if (circle !== undefined || open.length === 0) return outcome;
  const way = person.chance.pick(open);
  person.emit(`follows ${way}`);
  const since = new Set([...followed, way]);
  return persist(person, await follow(person, way, asked, outcome.words, since), since);
}

/** Ways that a person may follow repeatedly, each time for another file. */
const manyTimes: ReadonlySet<Way> = new Set(['moveAway', 'putBack']);

/** Exit code of a run that finds a damage of the checkpoint while it is active. */
const damagedExitCode = 14;

/** Does what the message says. Returns what to start next. */
async function follow(
  person: Person,
  way: Way,
  asked: Start,
  words: string,
  followed: ReadonlySet<Way>,
): Promise<Start> {
  const { out, rules } = person;
  switch (way) {
    case 'acceptLoss':
    case 'allow-fewer':
    case 'adopt':
    case 'fresh': {
      if (/--accept-loss/.test(words)) rules.acceptLoss();
      else if (way !== 'allow-fewer' && !words.includes('that the checkpoint does not know')) rules.letGo();
      if (asked.what === 'run' || (asked.what === 'cancel' && way === 'acceptLoss'))
        return { ...asked, argv: { ...asked.argv, [way]: true } };
      await persist(person, { what: 'run', argv: { [way]: true } }, followed);
      return asked;
    }
    case 'repair':
      await persist(person, { what: 'verify', argv: { repair: true } }, followed);
      return asked;
    case 'makeFolder':
      mkdirSync(join(out, 'images'), { recursive: true });
      return asked;
    case 'removeLock':
      rmSync(join(out, '.lock.sqlite'));
      return asked;
    case 'moveAway': {
      const [, name = ''] = ways.moveAway.exec(words) ?? [];
      renameSync(join(out, 'images', basename(name)), `${out}.${basename(name)}`);
      return asked;
    }
    case 'putBack':
      rmSync(out, { recursive: true, force: true });
      renameSync(`${out}.before`, out);
      rules.undo();
      return asked;
  }
}
