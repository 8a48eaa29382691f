/** What a person does whose start was refused: as the words say, until it is not refused any more or nothing is left to try. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Chance } from '../../src/server/faults/chance.ts';
import type { Account } from './account.ts';
import type { Outcome, Start } from './start.ts';

export interface Person {
  out: string;
  account: Account;
  chance: Chance;
  /** Whether `out` was damaged, and is in `out.before` as it was. */
  isDamaged: () => boolean;
  tell: (line: string) => void;
}

/** More options than there are do not lead on. */
const maxTries = 6;

export async function persist(
  person: Person,
  asked: Start,
  once: (asked: Start) => Promise<Outcome>,
): Promise<Outcome> {
  let outcome = await once(asked);
  let argv = asked.argv ?? {};
  for (let tries = 0; outcome.kind === 'refused' && tries < maxTries; tries++) {
    const answer = answerTo(person, argv, outcome);
    if (answer === undefined) break;
    if (answer === 'repair') await once({ what: 'verify', argv: { repair: true } });
    else argv = { ...argv, ...answer };
    outcome = await once({ ...asked, argv });
  }
  return outcome;
}

/** Options for the next try; undefined where there is nothing to be done. */
function answerTo(
  { out, account, chance, isDamaged, tell }: Person,
  argv: Record<string, unknown>,
  { words, exitCode }: Outcome,
): Record<string, unknown> | 'repair' | undefined {
  if (words.includes('--accept-loss') && argv['acceptLoss'] !== true) {
    account.acceptLoss();
    return { acceptLoss: true };
  }
  if (words.includes('--allow-fewer') && argv['allow-fewer'] !== true) return { 'allow-fewer': true };
  const ways = ['adopt', 'fresh'].filter((way) => words.includes(`--${way}`) && argv[way] !== true);
  if (ways.length > 0) {
    account.letGo();
    return { [chance.pick(ways)]: true };
  }
  if (words.includes('make an empty folder')) {
    mkdirSync(join(out, 'images'), { recursive: true });
    return {};
  }
  if (words.includes('--repair') && argv['repaired'] !== true && !words.includes('was repaired')) {
    argv['repaired'] = true;
    account.acceptLoss();
    return 'repair';
  }
  if (exitCode !== 2 || !isDamaged() || !existsSync(`${out}.before`)) return undefined;
  rmSync(out, { recursive: true, force: true });
  renameSync(`${out}.before`, out);
  tell('put back');
  return {};
}
