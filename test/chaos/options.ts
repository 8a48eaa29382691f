/** Options of `npm run chaos -- …`. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface Options {
  kills: number;
  scenes: number;
  seed: number;
  keep: boolean;
}

export const help = `npm run chaos -- [options]

  --kills N   runs that are killed, one after the other (200)
  --scenes N  scenes of the batch (7 for each kill)
  --seed N    of the faults and the kills (random, and printed)
  --keep      leave the batch's folder behind, also if all was well`;

/** Reads the options. Throws an `Error` with a message for the user if they are invalid. */
export function readOptions(args: string[]): Options | 'help' {
  const count = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = { kills: count, scenes: count, seed: count, keep: flag, help: flag };
  const { values } = parseArgs({ args, options });
  if (values.help) return 'help';
  const kills = readCount('kills', values.kills, 200);
  const scenes = readCount('scenes', values.scenes, Math.max(20, kills * 7));
  return { kills, scenes, seed: readCount('seed', values.seed, randomInt(2 ** 31)), keep: values.keep };
}

function readCount(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^\d{1,12}$/.test(text)) throw new Error(`--${name} is a whole number.`);
  return Number(text);
}
