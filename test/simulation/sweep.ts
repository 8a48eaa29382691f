/** Damages every file of a batch in every way, and checks the next start each time. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { chance, type Chance } from '../faults/chance.ts';
import { copyFolder, damageFile, drawFlip, fastFolder, type FileDamage } from './damages.ts';
import { NightRules, readNight, type Terms } from './night-rules.ts';
import { NightService } from './night-service.ts';
import { persist } from './persist.ts';
import { outOf, start, type Machine, type Outcome, type Start } from './start.ts';

export interface SweepResult {
  cases: number;
  /** Number of starts that were refused because of a damage. */
  refused: number;
  wrong: string[];
}

/** State of a batch before it is damaged: its folder, a copy from the day before, and the jobs of the service. */
interface Moment {
  name: string;
  root: string;
  machine: Machine;
}

const scenes = ['sea', 'hills', 'moon', 'rain', 'snow', 'fog'];
const terms: Terms = {
  attempts: 3,
  isHold: false,
  overdueMs: 600_000,
  jobs: undefined,
  scenes,
  isUntilGood: false,
};

/**
 * Tries the damages that `choose` picks. Default: all. `flips`: number of flipped bytes in each file. If `isWhole` is
 * false, files other than the checkpoint get one.
 */
export async function sweep(
  seed: number,
  { flips, isWhole, emit, choose = (all) => all }: SweepOptions,
): Promise<SweepResult> {
  const result: SweepResult = { cases: 0, refused: 0, wrong: [] };
  const damages: Damage[] = [];
  const place = mkdtempSync(join(fastFolder, 'nightrender-sweep-'));
  try {
    for (const moment of await moments(seed, place)) {
      const files = readdirSync(outOf(moment), { recursive: true, encoding: 'utf8' }).toSorted();
      for (const file of files.filter((name) => statSync(join(outOf(moment), name)).isFile())) {
        const draw = chance(seed, moment.name, file);
        const count = isWhole || /^(checkpoint|\.checkpoint)/.test(file) ? flips : 1;
        for (const damage of damagesOf(moment, file, count, isWhole, draw))
          damages.push({ moment, file, damage, draw });
      }
    }
    for (const { moment, file, damage, draw } of choose(damages)) {
      const what = `${moment.name}, ${file}: ${JSON.stringify(damage)}`;
      const tried = new Case(moment, join(place, 'case'), draw);
      const wrong = await tried.go(file, damage);
      result.cases += 1;
      if (tried.wasRefused) result.refused += 1;
      for (const sentence of wrong) result.wrong.push(`${what}: ${sentence}`);
      if (wrong.length > 0) emit(`${what}: ${wrong.join('; ')}`);
    }
    return result;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

interface SweepOptions {
  flips: number;
  isWhole: boolean;
  emit: (line: string) => void;
  choose?: (damages: Damage[]) => readonly Damage[];
}

/** A damage of one file of a batch, with its random numbers. */
interface Damage {
  moment: Moment;
  file: string;
  damage: SweptDamage;
  draw: Chance;
}

type SweptDamage = FileDamage | 'yesterday';

function damagesOf(
  moment: Moment,
  file: string,
  flips: number,
  isWhole: boolean,
  draw: Chance,
): SweptDamage[] {
  const { size } = statSync(join(outOf(moment), file));
  const cuts = isWhole ? [0.01, 0.25, 0.5, 0.75, 0.99] : [draw.draw()];
  const yesterday = existsSync(join(`${outOf(moment)}.yesterday`, file)) ? ['yesterday' as const] : [];
  if (size === 0) return ['missing', ...yesterday];
  return [
    'missing',
    'empty',
    ...yesterday,
    ...cuts.map((share) => ({ cutAt: Math.floor(share * size) })),
    ...Array.from({ length: flips }, () => drawFlip(size, draw)),
  ];
}

/**
 * Returns two batches, one whose run was killed and one that is complete. On the day before, both had been stopped
 * early.
 */
async function moments(seed: number, place: string): Promise<Moment[]> {
  const begin = async (name: string): Promise<Moment> => {
    const root = join(place, name);
    mkdirSync(root, { recursive: true });
    writeFileSync(join(root, 'pipeline.yaml'), pipeline);
    writeFileSync(
      join(root, 'list.csv'),
      `id,scene\n${scenes.map((scene, i) => `s${i + 1},${scene}\n`).join('')}`,
    );
    const machine = machineIn(root, new NightService(chance(seed, name)), Date.UTC(2026, 0, 1));
    await start(machine, { what: 'run', stop: { atCall: 30, mode: 'drain' } });
    copyFolder(outOf(machine), `${outOf(machine)}.yesterday`);
    machine.now += 86_400_000;
    return { name, root, machine };
  };
  const killed = await begin('killed');
  await start(killed.machine, { what: 'run', dieAt: 90 });
  const complete = await begin('complete');
  await start(complete.machine, { what: 'run' });
  return [killed, complete];
}

class Case {
  readonly #machine: Machine;
  readonly #rules: NightRules;
  readonly #chance: Chance;
  readonly #wrong: string[] = [];
  wasRefused = false;

  constructor(moment: Moment, root: string, draw: Chance) {
    rmSync(root, { recursive: true, force: true });
    cpSync(moment.root, root, { recursive: true });
    this.#chance = draw;
    const { service, now } = moment.machine;
    this.#machine = machineIn(root, service.copy(chance(1, 'case')), now + 60_000);
    this.#rules = new NightRules(this.#machine);
  }

  async go(file: string, damage: SweptDamage): Promise<string[]> {
    const out = outOf(this.#machine);
    const path = join(out, file);
    this.#rules.see();
    if (file.startsWith('images/'))
      this.#rules.touch({ what: file, pictures: [file.slice('images/'.length)] });
    copyFolder(out, `${out}.before`);
    if (damage === 'yesterday') writeFileSync(path, readFileSync(join(`${out}.yesterday`, file)));
    else damageFile(path, damage);
    const left = bytesOf(path);
    let isFirst = true;
    const once = async (asked: Start): Promise<Outcome> => {
      const outcome = await this.#once(asked);
      this.wasRefused ||= outcome.kind === 'refused';
      // SQLite creates the index of the write-ahead log again when it opens the database.
      if (isFirst && outcome.kind === 'refused' && !file.endsWith('-shm') && bytesOf(path) !== left)
        this.#wrong.push('the refused start has changed the damaged file');
      isFirst = false;
      return outcome;
    };
    const person = {
      out,
      rules: this.#rules,
      chance: this.#chance,
      isDamaged: () => true,
      emit: () => undefined,
      tellWrong: (sentence: string) => void this.#wrong.push(sentence),
      once,
    };
    const outcome = await persist(person, { what: 'run' });
    if (outcome.kind === 'refused') this.#wrong.push(`nothing leads on: ${outcome.words}`);
    if (outcome.kind === 'ended' && outcome.exitCode !== 0 && outcome.exitCode !== 3)
      this.#wrong.push(`it ends with ${outcome.exitCode}: ${outcome.words}`);
    return this.#wrong;
  }

  async #once(asked: Start): Promise<Outcome> {
    this.#rules.begin();
    const outcome = await start(this.#machine, asked);
    this.#wrong.push(...this.#rules.judge(asked, outcome, terms, readNight(this.#machine)));
    return outcome;
  }
}

function machineIn(root: string, service: NightService, now: number): Machine {
  return { root, service, now, skewMs: 0, random: () => 0.5, emit: () => undefined };
}

/** Returns the content of a file. An absent write-ahead log counts as an empty one. */
function bytesOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'latin1') : '';
}

const pipeline = `manifest: list.csv
endpoint: {baseUrl: 'https://service.example', id: scene-renderer, apiKey: '\${NIGHTRENDER_API_KEY}'}
input: {scene: '{{ scene }}'}
concurrency: 3
output: {dir: out, metadata: sidecar}
report: {thumbnails: false}
`;
