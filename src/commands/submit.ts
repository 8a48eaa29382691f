/** `nightrender submit`: hands a batch to Slurm or Kubernetes, which keep its runners going. */
import { overridesOf } from '../batch/start-choices.ts';
import { refuse, pipelineFile } from './reply.ts';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve, basename, relative, sep } from 'node:path';
import { z } from 'zod';
import { kubernetesJobs, slurmTasks, submitScript, type ClusterTask } from '../clusters/ask-engine.ts';
import { slurmScript } from '../clusters/slurm-workers.ts';
import { similarFile } from '../lib/files/glob.ts';
import { packageFile } from '../lib/files/package-file.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { durationWithin } from '../lib/yaml/scalar-schemas.ts';
import { readConfig } from '../runner/config/read-config.ts';
import { readSubmission, type SubmissionSettings } from '../runner/config/read-submission.ts';
import { batchName } from '../runner/core/naming.ts';
import { endings } from '../runner/core/ending.ts';
import { writeError, writeOut } from '../terminal/terminal.ts';
import {
  type LoadedCommand,
  commonExits,
  pipelineArgument,
  oneText,
  textOption,
  wholeNumber,
} from './command.ts';
import { commandArguments } from '../batch/refusal.ts';
import { kubernetesManifest, maxConfigMapBytes } from '../clusters/kubernetes-manifest.ts';

export const submitCommand: LoadedCommand = {
  purpose: `Keeps runners of the batch going on a cluster: for Slurm it shows and submits a job array; for Kubernetes it prints a manifest for kubectl apply. Options after -- go to sbatch. Several runners need a shared checkpoint.`,
  positionals: { pipeline: pipelineArgument },
  options: {
    on: { ...textOption, describe: 'slurm or kubernetes' },
    runners: { requiresArg: true, describe: 'how many runners (default: 1)' },
    'dry-run': { type: 'boolean', describe: 'show it, and submit nothing' },
    status: { type: 'boolean', describe: 'ask the cluster about the runners' },
    drain: {
      ...textOption,
      describe: 'Slurm: how long before the wall time a runner starts nothing new (default: 5m)',
    },
    image: { ...textOption, describe: 'Kubernetes: container image that has nightrender' },
    volume: { ...textOption, describe: 'Kubernetes: PersistentVolumeClaim that holds the folder' },
    secret: {
      ...textOption,
      describe: 'Kubernetes: Secret that holds the variables (default: nightrender)',
    },
  },
  takesRest: true,
  examples: [
    ['$0 submit pipeline.yaml --on slurm -- --partition=cpu --time=8:00:00', 'one runner'],
    ['$0 submit pipeline.yaml --on slurm --runners 16 --dry-run', 'look at the script'],
    [
      '$0 submit pipeline.yaml --on kubernetes --runners 16 --image me/nightrender:1 | kubectl apply --server-side -f -',
      '',
    ],
    ['$0 submit pipeline.yaml --status', 'what runs, waits or failed'],
  ],
  exits: {
    ...commonExits,
    'wrong-use': 'wrong use or configuration, or the cluster refused it',
    complete: 'done',
  },
  work: (argv) => {
    try {
      submit(pipelineFile(argv), argv);
      return 0;
    } catch (thrown) {
      return refuse(thrown, undefined, false, pipelineFile(argv));
    }
  },
};

function submit(file: string, argv: Record<string, unknown>): void {
  const isStatus = argv['status'] === true;
  const engine = engineIn(argv) ?? (isStatus ? engineHere() : undefined);
  const overrides = engine === 'kubernetes' ? [] : overridesOf({}, process.env);
  const settings = readSubmission(file, overrides, process.env);
  const name = jobName(settings.dir);
  if (engine === undefined) throw problem('--on', 'is missing; expected slurm or kubernetes');
  if (isStatus) return printStatus(name, engine);
  // Values in a Kubernetes Secret need not be known on this machine, so they get a placeholder.
  const secrets = engine === 'slurm' ? [] : settings.checkpointVariables;
  const env = { ...Object.fromEntries(secrets.map((each) => [each, anyDatabase])), ...process.env };
  readConfig(file, overrides, env, engine === 'slurm');
  const runners = argv['runners'] === undefined ? 1 : wholeNumber(argv, 'runners', 1, 1_000);
  const problems = [...sharedProblems(settings, runners, file), ...engines[engine].problems(settings, argv)];
  if (problems.length > 0) throw new ConfigError(problems);
  engines[engine].submit({ file, name, settings, runners, argv });
}

const anyDatabase = 'postgres://host/database';

type Engine = 'slurm' | 'kubernetes';

const engines = {
  slurm: { problems: slurmProblems, submit: submitToSlurm },
  kubernetes: { problems: kubernetesProblems, submit: printManifest },
} as const satisfies Record<Engine, unknown>;

function engineIn(argv: Record<string, unknown>): Engine | undefined {
  const on = oneText(argv, 'on');
  if (on === undefined || on === 'slurm' || on === 'kubernetes') return on;
  throw problem('--on', `${JSON.stringify(on)} is given; expected slurm or kubernetes`);
}

/** Returns the engine whose programs are installed here. */
function engineHere(): Engine {
  const folders = (process.env['PATH'] ?? '').split(':').filter(Boolean);
  return folders.some((folder) => existsSync(join(folder, 'squeue'))) ? 'slurm' : 'kubernetes';
}

/** Name of the cluster job: the readable end of the output folder. A hash of the whole path makes it unique. */
function jobName(dir: string): string {
  const words = batchName(dir)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(-20)
    .replaceAll(/^-+|-+$/g, '');
  const mark = createHash('sha256').update(dir).digest('hex').slice(0, 6);
  return ['nightrender', words, mark].filter((part) => part !== '').join('-');
}

function sharedProblems(
  { hasSharedCheckpoint, lists, placeOf }: SubmissionSettings,
  runners: number,
  file: string,
) {
  const problems: Problem[] = [];
  if (runners > 1 && !hasSharedCheckpoint)
    problems.push({
      where: file,
      text: `${runners} runners need a checkpoint that they share: set checkpoint: \${DATABASE_URL} (PostgreSQL), or leave --runners out`,
    });
  if (lists.includes('-'))
    problems.push({
      where: placeOf(['manifest']),
      text: 'there is no standard input on a cluster; expected a file',
    });
  return problems;
}

/** Slurm copies variables along with the job, so they have to be set here. */
function slurmProblems({ unset }: SubmissionSettings, argv: Record<string, unknown>): Problem[] {
  const others = ['image', 'volume', 'secret'].filter((name) => argv[name] !== undefined);
  return [
    ...unset,
    ...others.map((name) => ({ where: `--${name}`, text: 'is for Kubernetes; Slurm does not take it' })),
  ];
}

function submitToSlurm({ file, name, settings, runners, argv }: Submission): void {
  const { folder } = settings;
  const script = slurmScript({
    name,
    runners,
    folder,
    command: [process.execPath, packageFile('dist/nightrender.cjs'), 'run', resolve(file)],
    memoryBytes: runnerBytesOf(settings),
    drainMs: drainIn(argv),
    endMs: endMsOf(settings),
    options: restOf(argv),
  });
  writeOut(script.trimEnd());
  if (argv['dryRun'] === true) return;
  const id = submitScript(script);
  writeError(
    `Submitted as job ${id}; logs are ${join(folder, `${name}-${id}_*.log`)}. \`nightrender submit ${commandArguments(file, undefined)} --status\` asks Slurm, \`scancel ${id}\` ends it.`,
  );
}

const drain = z.object({ value: durationWithin('1s', '1d') });

function drainIn(argv: Record<string, unknown>): number {
  const text = oneText(argv, 'drain') ?? '5m';
  const read = drain.safeParse({ value: text });
  if (read.success) return read.data.value;
  throw problem('--drain', `${JSON.stringify(text)} is given; expected a duration such as 5m`);
}

function printStatus(name: string, engine: Engine): void {
  const tasks = engine === 'slurm' ? slurmTasks(name) : kubernetesJobs(name);
  const where = engine === 'slurm' ? 'Slurm' : 'Kubernetes';
  if (tasks.length === 0) return writeOut(`${where} has no jobs of ${name}.`);
  const states = [...new Set(tasks.map(({ state }) => state))];
  const counts = states.map((state) => `${tasks.filter((task) => task.state === state).length} ${state}`);
  writeOut(`${where}, ${name}: ${counts.join(', ')}`);
  for (const task of tasks)
    writeOut(`  ${[task.id, task.state, ...task.details, ...meaningOf(task)].join('  ')}`);
}

function meaningOf({ exitCode }: ClusterTask): string[] {
  const ending = Object.values(endings).find((each) => each.exitCode === exitCode);
  if (exitCode === undefined || exitCode === 0) return [];
  const means = ending?.means ?? (exitCode > 128 ? `killed by signal ${exitCode - 128}` : undefined);
  return [`exit code ${exitCode}${means === undefined ? '' : `: ${means}`}`];
}

export interface Submission {
  file: string;
  /** Name of the batch in the cluster. */
  name: string;
  settings: SubmissionSettings;
  runners: number;
  argv: Record<string, unknown>;
}

/** Time that a runner may need to end: its grace period, its report and its last messages. */
export function endMsOf({ graceMs }: SubmissionSettings): number {
  return graceMs + 20_000;
}

/** Memory of a runner: its own, plus its large responses. */
export function runnerBytesOf({ memoryBytes }: SubmissionSettings): number {
  return 2 ** 30 + memoryBytes;
}

export function restOf(argv: Record<string, unknown>): string[] {
  const rest = argv['--'];
  return Array.isArray(rest) ? rest.map(String) : [];
}

export function problem(where: string, text: string): ConfigError {
  return new ConfigError([{ where, text }]);
}

/** Finds everything that would keep the batch from running on Kubernetes. */
function kubernetesProblems(settings: SubmissionSettings, argv: Record<string, unknown>): Problem[] {
  const { folder, dir, lists, writtenSecrets, hasSharedCheckpoint, hasBucket, sendsFiles } = settings;
  const hasVolume = oneText(argv, 'volume') !== undefined;
  const problems: Problem[] = writtenSecrets.map((where) => ({
    where,
    text: 'a secret is written in the file, which everybody can read in the cluster; expected ${NAME}, with its value in the Secret',
  }));
  const add = (where: string, text: string): void => void problems.push({ where, text });
  if (oneText(argv, 'image') === undefined)
    add('--image', 'is missing; expected an image that has nightrender');
  if (argv['drain'] !== undefined) add('--drain', 'is for Slurm; Kubernetes has no wall time');
  if (restOf(argv).length > 0)
    add('--', `${restOf(argv).join(' ')} is for Slurm; kubectl takes options of its own`);
  for (const path of [dir, ...lists.filter((list) => list !== '-')])
    if (relative(folder, path).startsWith('..'))
      add(
        path,
        'is outside the folder of pipeline.yaml, and a container has only that folder; move it there',
      );
  if (hasVolume) return problems;
  if (!hasSharedCheckpoint || !hasBucket)
    add(
      '--volume',
      `is missing: without it, ${lostWithPod(settings)} would be lost with the pod; expected a PersistentVolumeClaim`,
    );
  if (sendsFiles) add('--volume', 'is missing: the files that jobs send must be in it, beside pipeline.yaml');
  return problems;
}

function lostWithPod({ hasSharedCheckpoint, hasBucket }: SubmissionSettings): string {
  if (hasSharedCheckpoint) return 'pictures (output.pictures)';
  return hasBucket ? 'the checkpoint (checkpoint)' : 'checkpoint and pictures (checkpoint, output.pictures)';
}

/** Usual variables of an S3 bucket. They are optional, because a cluster may grant access in other ways. */
const bucketVariables = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_REGION',
  'AWS_DEFAULT_REGION',
  'AWS_ENDPOINT_URL',
  'AWS_ENDPOINT_URL_S3',
];

function printManifest({ file, name, settings, runners, argv }: Submission): void {
  const { folder, variables, hasBucket } = settings;
  const claim = oneText(argv, 'volume');
  const optional = hasBucket ? bucketVariables.filter((each) => !variables.includes(each)) : [];
  const manifest = kubernetesManifest({
    batch: name,
    suffix: new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-'),
    runners,
    image: oneText(argv, 'image') ?? '',
    // The last two folders of its output identify a batch, so they keep their names.
    folder: `/batch/${basename(folder)}`,
    files: filesOf(resolve(file), settings, claim !== undefined),
    claim,
    secret: oneText(argv, 'secret') ?? 'nightrender',
    variables: [
      ...variables.map((each) => ({ name: each, isOptional: false })),
      ...optional.map((each) => ({ name: each, isOptional: true })),
    ],
    memoryBytes: runnerBytesOf(settings),
    endMs: endMsOf(settings),
  });
  writeOut(manifest.trimEnd());
}

/** Files for the ConfigMap, without lists that are too large and so on a volume. Throws `ConfigError`. */
function filesOf(file: string, { folder, lists }: SubmissionSettings, hasVolume: boolean) {
  const read = (path: string) => ({
    path: relative(folder, path).split(sep).join('/'),
    bytes: readFileSync(path),
  });
  const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();
  const all = [...new Set([file, ...lists])];
  const bytes = all.filter(isFile).reduce((sum, path) => sum + statSync(path).size, 0);
  const fits = all.every(isFile) && bytes <= maxConfigMapBytes;
  if (fits) return all.map(read);
  if (hasVolume) return [read(file)];
  const missing = all.find((path) => !existsSync(path));
  if (missing !== undefined) throw problem(missing, `no such file${similarFile(missing)}`);
  const what = all.every(isFile)
    ? `pipeline.yaml and lists have ${bytes.toLocaleString('en')} bytes, a ConfigMap holds ${maxConfigMapBytes.toLocaleString('en')}`
    : 'a folder does not fit into a ConfigMap';
  throw problem(
    '--volume',
    `is missing: ${what}; expected a PersistentVolumeClaim with the lists beside pipeline.yaml`,
  );
}
