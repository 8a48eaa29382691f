/**
 * A night that follows from a seed: a list, a service, and starts of the program, with damages, clock changes and edits
 * between them.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Folder } from '../account/read-folder.ts';
import { chance, type Chance } from '../faults/chance.ts';
import { copyFolder, damages, fastFolder, keepCheckpoint } from './damages.ts';
import { NightList } from './list.ts';
import { NightRules, readNight, type Terms } from './night-rules.ts';
import { persist } from './persist.ts';
import { calm, goodScore, NightService, places, type Weather } from './night-service.ts';
import { outOf, start, type Machine, type Outcome, type Start } from './start.ts';

export interface NightResult {
  seed: number;
  /** Hash of everything that happened. */
  hash: string;
  /** Sentences that say what went wrong. The night ends at the first. */
  wrong: string[];
  trace: string[];
  starts: number;
  kills: number;
  damages: number;
}

export async function night(seed: number): Promise<NightResult> {
  const root = mkdtempSync(join(fastFolder, 'nightrender-night-'));
  try {
    return await new Night(seed, root).go();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Number of half calls after which a start has read the files on disk. */
const halvesToOpen = 6;

class Night {
  readonly #chance: Chance;
  readonly #list: NightList;
  readonly #machine: Machine;
  readonly #rules: NightRules;
  readonly #result: NightResult;
  readonly #hash = createHash('sha256');
  readonly #metadata: string;
  readonly #report: string;
  /** Random numbers for changes of `output.image`, and its present value. */
  readonly #settings: Chance;
  #image: string = places[0];
  /** Name of the folder in which the night happens. */
  readonly #folder: string;
  /** Earlier checkpoints. */
  readonly #olds: { path: string; begun: number }[] = [];
  /** Number of half calls of the latest complete run. */
  #halves = 200;
  /** True if a start has not yet read the damaged files, or was refused because of them. */
  #isDamaged = false;

  constructor(seed: number, root: string) {
    this.#folder = basename(root);
    this.#chance = chance(seed, 'night');
    this.#list = new NightList(chance(seed, 'list'), chance(seed, 'until'));
    this.#machine = {
      root,
      service: new NightService(chance(seed, 'service')),
      now: Date.UTC(2026, 0, 1),
      skewMs: 0,
      random: chance(seed, 'program').draw,
      emit: (line) => this.#emit(line),
    };
    this.#settings = chance(seed, 'settings');
    if (this.#settings.hits(0.3)) this.#machine.service.workersPlace = places[1];
    this.#rules = new NightRules(this.#machine);
    this.#result = { seed, hash: '', wrong: [], trace: [], starts: 0, kills: 0, damages: 0 };
    this.#metadata = this.#chance.pick(['none', 'none', 'embed', 'sidecar']);
    this.#report = this.#chance.pick(['never', 'never', 'never', '5m']);
  }

  async go(): Promise<NightResult> {
    this.#list.write(this.#machine.root);
    const { between } = this.#chance;
    for (let left = between(2, 5); left > 0 && this.#isWell; left--) {
      await this.#disturbedStart();
      if (left > 1 && this.#isWell) await this.#betweenStarts();
    }
    await this.#calmEnd();
    return { ...this.#result, hash: this.#hash.digest('hex') };
  }

  get #isWell(): boolean {
    return this.#result.wrong.length === 0;
  }

  async #disturbedStart(): Promise<void> {
    const { hits, between, pick } = this.#chance;
    const { service } = this.#machine;
    service.weather = hits(0.35) ? calm : this.#weather();
    const dieAt = hits(0.5) ? between(1, pick([25, 80, this.#halves])) : undefined;
    const stop = hits(0.15)
      ? { atCall: between(1, 150), mode: pick(['drain', 'leave'] as const) }
      : undefined;
    const jumpMs = pick([-1, 1]) * between(60_000, 2 * 86_400_000);
    const jump = hits(0.1) ? { atCall: between(1, 150), ms: jumpMs } : undefined;
    const terms = this.#writeConfig();
    await this.#start({ what: 'run', dieAt, stop, jump }, terms);
  }

  #weather(): Weather {
    const { hits, draw, pick, between } = this.#chance;
    const refusal = {
      kind: pick(['key-refused', 'account-unusable', 'endpoint-unknown'] as const),
      requests: pick([['submit'], ['status'], ['submit', 'status']] as const),
      fromMs: pick([0, between(0, 120_000)]),
      lastMs: pick([between(1_000, 60_000), between(1_000, 300_000), Infinity]),
    };
    const some = (most: number): number => (hits(0.25) ? draw() * most : 0);
    return {
      overloaded: some(0.3),
      notReached: some(0.3),
      answerLost: some(0.4),
      submitBroken: some(0.3),
      foreignAnswer: some(0.2),
      statusBroken: some(0.4),
      isGone: hits(0.07),
      freshMs: hits(0.2) ? 20_000 : 0,
      missed: some(0.4),
      stale: some(0.3),
      failed: some(0.5),
      badPicture: some(0.4),
      noOutput: some(0.2),
      slow: some(0.5),
      cancelBroken: some(0.5),
      late: some(0.8),
      refused: some(0.1),
      refusal: hits(0.2) ? refusal : undefined,
    };
  }

  /** Writes the settings of a start. In the calm end they allow everything to be rendered. */
  #writeConfig(isCalm = false): Terms {
    const { hits, between, pick } = this.#chance;
    const attempts = isCalm ? 3 : between(1, 3);
    const isHold = !isCalm && hits(0.3);
    const jobs = !isCalm && hits(0.15) ? between(1, 12) : undefined;
    const forTime = !isCalm && hits(0.1) ? 'for: 2m, ' : '';
    const { seeds, isUntilGood } = this.#list;
    const { service } = this.#machine;
    if (isCalm) this.#image = service.workersPlace;
    service.place = this.#image;
    const text = `manifest: list.csv
endpoint: {baseUrl: 'https://service.example', id: scene-renderer, apiKey: '\${NIGHTRENDER_API_KEY}'}
input: {scene: '{{ scene }}'${seeds > 0 ? ", seed: '{{ seed }}'" : ''}}
${seeds > 0 ? `scenes: {seeds: ${seeds}${isUntilGood ? `, until: 'score >= ${goodScore}'` : ''}}\n` : ''}concurrency: ${between(1, 6)}
output: {dir: out, image: '${this.#image}', ${isUntilGood ? 'values: {score: score}, ' : ''}metadata: ${this.#metadata}${seeds > 0 ? ", name: '{{ id }}.png'" : ''}}
retry: {attempts: ${attempts}, submissions: ${isCalm ? 50 : between(4, 10)}, unanswered: ${isHold ? 'hold' : 'resubmit'}, longestWait: 1m}
polling: {shortest: 1s, longest: 30s}
timeouts: {queue: 10m, execution: 10m}
limits: {${forTime}${jobs === undefined ? '' : `jobs: ${jobs}`}}
halt: {consecutive: ${pick([3, 20])}, unreachable: 10m}
report: {every: ${this.#report}, thumbnails: false}
`;
    writeFileSync(join(this.#machine.root, 'pipeline.yaml'), text);
    this.#emit(text);
    return { attempts, isHold, overdueMs: 600_000, jobs, scenes: this.#list.scenes, isUntilGood };
  }

  async #betweenStarts(): Promise<void> {
    const { hits, between, pick } = this.#chance;
    const machine = this.#machine;
    machine.now += hits(0.25) ? between(1, 5) * 1_800_000 : between(1_000, 300_000);
    if (hits(0.15)) machine.skewMs += pick([-1, 1]) * between(60_000, 3 * 86_400_000);
    this.#emit(`at ${machine.now} ${machine.skewMs}`);
    if (hits(0.3)) {
      this.#emit(this.#list.edit());
      this.#list.write(machine.root);
    }
    this.#changeSetting();
    if (hits(0.25)) await this.#command(pick(['cancel', 'retry', 'verify'] as const));
    if (this.#isWell && hits(0.6)) this.#damage();
  }

  /** Corrects a wrong `output.image`, or breaks a correct one. */
  #changeSetting(): void {
    const [first, second] = places;
    const isRight = this.#image === this.#machine.service.workersPlace;
    if (this.#settings.hits(isRight ? 0.1 : 0.5)) this.#image = this.#image === first ? second : first;
  }

  async #command(what: 'cancel' | 'retry' | 'verify'): Promise<void> {
    const { hits, pick } = this.#chance;
    const one = { id: [pick(this.#list.ids)], ...(hits(0.5) ? { again: true } : { giveUp: true }) };
    const argv = what === 'verify' ? { repair: true } : what === 'retry' && hits(0.5) ? one : {};
    await this.#start({ what, argv }, { ...this.#writeConfig(), scenes: this.#list.scenes });
  }

  #damage(): void {
    const out = outOf(this.#machine);
    if (!existsSync(out) || this.#isDamaged) return;
    const { pick } = this.#chance;
    const names = Object.keys(damages) as (keyof typeof damages)[];
    const name = pick(names);
    copyFolder(out, `${out}.before`);
    const place = {
      out,
      olds: this.#olds.filter(({ begun }) => begun === this.#rules.begun).map(({ path }) => path),
      names: this.#list.names,
      chance: this.#chance,
    };
    const damaged = damages[name](place);
    if (damaged === undefined) return;
    this.#result.damages += 1;
    this.#isDamaged = true;
    this.#emit(damaged.what);
    this.#rules.touch(damaged);
  }

  /** Starts the program. If it is refused, a person follows the message. */
  #start(asked: Start, terms: Terms): Promise<Outcome> {
    const person = {
      out: outOf(this.#machine),
      rules: this.#rules,
      chance: this.#chance,
      isDamaged: () => this.#isDamaged,
      emit: (line: string) => this.#emit(line),
      tellWrong: (sentence: string) => this.#tellWrong(sentence),
      once: (again: Start) => this.#once(again, terms),
    };
    return persist(person, asked);
  }

  async #once(asked: Start, terms: Terms): Promise<Outcome> {
    const machine = this.#machine;
    this.#result.starts += 1;
    this.#emit(`start ${JSON.stringify(asked)}`);
    this.#rules.begin();
    const outcome = await start(machine, asked);
    if (outcome.kind === 'died') this.#result.kills += 1;
    if (outcome.kind === 'ended' && asked.what === 'run') this.#halves = Math.max(50, outcome.halves);
    this.#emit(`${outcome.kind} ${outcome.exitCode} ${outcome.words}`);
    const folder = readNight(machine);
    // A program that died before it read the damaged files is not responsible for them.
    const isSeen = !this.#isDamaged || outcome.kind !== 'died' || outcome.halves > halvesToOpen;
    const wrong = isSeen ? this.#rules.judge(asked, outcome, terms, folder) : [];
    for (const sentence of wrong) this.#tellWrong(sentence);
    this.#tellFolder(folder);
    if (outcome.kind !== 'refused') this.#keep();
    if (outcome.kind === 'ended' || outcome.halves > halvesToOpen) this.#isDamaged = false;
    return outcome;
  }

  #keep(): void {
    const out = outOf(this.#machine);
    if (!existsSync(join(out, 'checkpoint.sqlite'))) return;
    const old = `${out}.old-${this.#olds.length}`;
    keepCheckpoint(out, old);
    this.#olds.push({ path: old, begun: this.#rules.begun });
  }

  /** The service works, and nobody changes anything: in the end everything must be there. */
  async #calmEnd(): Promise<void> {
    if (!this.#isWell) return;
    this.#machine.service.weather = calm;
    this.#machine.now += 60_000;
    const asked: Start[] = [
      { what: 'run' },
      { what: 'verify', argv: { repair: true } },
      { what: 'retry' },
      { what: 'run' },
    ];
    let outcome: Outcome | undefined;
    for (const each of asked) {
      outcome = await this.#start(each, this.#writeConfig(true));
      if (!this.#isWell || (each.what === 'run' && outcome.kind === 'ended' && outcome.exitCode === 0))
        return;
    }
    this.#tellWrong(`in the end it is not complete: ${outcome?.exitCode} ${outcome?.words}`);
  }

  #tellWrong(sentence: string): void {
    this.#emit(`WRONG: ${sentence}`);
    this.#result.wrong.push(sentence);
  }

  #tellFolder({ books, pictures }: Folder): void {
    this.#emit(JSON.stringify(books ?? 'no checkpoint'));
    for (const [file, { sha256 }] of pictures) this.#emit(`${file} ${sha256.slice(0, 12)}`);
  }

  #emit(told: string): void {
    // Replacing takes time in the square of the length of a line without spaces, and the books are such a line. So
    // lines without the folder are skipped.
    const line = told.includes(this.#folder)
      ? told.replaceAll(new RegExp(String.raw`\S*${this.#folder}`, 'g'), '')
      : told;
    this.#hash.update(`${line}\n`);
    this.#result.trace.push(line);
  }
}
