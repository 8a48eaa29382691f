/** `nightrender help`: prints a page of the manual, or lists its topics. */
import { refuse, textIn } from './reply.ts';
import { readFileSync } from 'node:fs';
import { packageFile } from '../lib/files/package-file.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { didYouMean } from '../lib/text/closest.ts';
import { topicList, type Commands, type LoadedCommand } from './command.ts';
import { createPaint, outColumns, writeOut, writePaged } from '../terminal/terminal.ts';
import { formatMarkdown } from '../terminal/format-markdown.ts';
import { wrapIndented } from '../terminal/fit-text.ts';

/** Topics by group. None has the name of a command: `help run` prints the help of `run`. */
const groups = {
  'First steps': {
    start: 'install, render, and make a batch of your own',
    recipes: 'files to copy: a sweep, favourites, cron, two machines, diffusers, A1111',
    commands: 'every command, and options that all share',
    endpoint: 'render on a real service: address, key, interface',
  },
  'What to render': {
    manifest: 'lists of scenes: formats, ids, types, bad rows, edits',
    matrix: 'every row with every combination of values; several seeds',
    stages: 'score, choose, upscale: the list is another batch',
    'input-files': 'send local pictures and other files with a job',
    'pipeline-file': 'pipeline.yaml: every key and its default; templates',
  },
  'Other services': {
    comfyui: 'render a workflow on a ComfyUI of your own',
    fal: 'render at fal: models, costs, results that expire',
    replicate: 'render at Replicate: models, costs, results that expire',
    'own-service': 'describe any other service in a file',
  },
  'The night': {
    before: 'see what a run would do and cost; render a preview',
    watching: 'follow a run in the terminal, from another one, in a browser',
    notifications: 'inform a monitor, a chat, a webhook or a command',
    cron: 'run every night: cron, systemd, logs',
    money: 'what a night may cost, and how to limit it',
    resume: 'stop, resume, exit codes, jobs in flight, a lost checkpoint',
    'shared-checkpoint': 'one batch on several machines, with PostgreSQL',
  },
  'On a cluster': {
    slurm: 'many runners, or one that is started again, on a Slurm cluster',
    kubernetes: 'the same on Kubernetes, with volumes or a bucket',
    'kubernetes-workers': 'workers of your own service that Kubernetes starts by its queue, with KEDA',
  },
  'In the morning': {
    morning: 'gallery, lists, retry, verify',
    datasets: 'export: a gallery for a client, imagefolder, webdataset, captions, parquet',
    performance: 'what kept a run from being faster',
    files: 'what is in the output folder; names, copies, metadata, downloads',
    bucket: 'pictures in a bucket: S3, Ceph, MinIO, R2',
  },
  'When something is wrong': {
    troubleshooting: 'symptom, meaning, what to do',
    operators: 'states and the bill, kinds of failure, the checkpoint and its damage',
  },
  'For programs and administrators': {
    programs: '--json, --log, and files to read from scripts',
    library: 'run, plan, read, repair and export batches from JavaScript or TypeScript',
    security: 'who sees keys, prompts and pictures, and who can reach what',
  },
  'A service of your own': {
    service: 'run the job service: endpoints, workloads, limits',
    workers: 'workers on other machines, by Slurm, and keys',
    restore: 'back the service up, put a backup back, and what that costs',
    'shared-service': 'one service on several machines, with PostgreSQL',
    https: 'certificates, and reverse proxies, for other machines',
    console: 'endpoints, jobs and workers in the browser',
    'job-interface': 'the operations of the service',
    'scene-renderer': 'the renderer that draws prompts in 3D',
    blender: 'words, models and scripts rendered by Blender, with passes',
  },
} as const satisfies Record<string, Record<string, string>>;

export const helpGroups: [title: string, topics: [name: string, summary: string][]][] = Object.entries(
  groups,
).map(([title, topics]) => [title, Object.entries(topics)]);

export const helpTopics: string[] = helpGroups.flatMap(([, topics]) => topics.map(([name]) => name));

export const helpCommand: LoadedCommand = {
  purpose: `Prints a page of the manual, paged on a terminal (PAGER, or less), else as Markdown. Without a topic, lists the topics. With the name of a command, prints its help.`,
  positionals: { topic: { type: 'string', default: topicList, describe: 'a page, or a command' } },
  examples: [
    ['$0 help', 'list the topics'],
    ['$0 help manifest', 'read the page on lists of scenes'],
    ['$0 help run', 'the options of run'],
  ],
  exits: { complete: 'printed', 'wrong-use': 'there is no such topic' },
  work: (argv, commands) => help(textIn(argv, 'topic'), commands),
  words: helpTopics,
};

/** Returns the exit code. Names of commands never get here: the parser prints their help. */
function help(topic: string, commands: Commands): number {
  if (topic === topicList) {
    printTopics();
    return 0;
  }
  const page = manualPage(topic);
  if (page === undefined) return refuse(noTopic(topic, commands), undefined, false, undefined, true);
  printManualPage(page);
  return 0;
}

/** Earlier names of pages: they are in scripts, in notes and in the memory of people. */
const formerTopics = new Map([
  ['states', 'operators'],
  ['failures', 'operators'],
  ['checkpoint', 'operators'],
]);

/** Returns the page as Markdown, or undefined if there is no such topic. */
export function manualPage(named: string): string | undefined {
  const topic = formerTopics.get(named) ?? named;
  if (!helpTopics.includes(topic)) return undefined;
  return readFileSync(packageFile(`src/help/${topic}.md`), 'utf8');
}

function noTopic(topic: string, commands: Commands): ConfigError {
  const hint =
    didYouMean(topic, [...helpTopics, ...commands.map(([name]) => name)]) ??
    'nightrender help lists the topics';
  return new ConfigError([{ where: '', text: `there is no topic ${JSON.stringify(topic)}; ${hint}` }]);
}

/** Wider tables are hard to read. */
const maxColumns = 120;

function printManualPage(markdown: string): void {
  if (!process.stdout.isTTY) return writeOut(markdown.replaceAll(/<!--[^]*?-->\n+/g, '').trimEnd());
  const columns = Math.min(outColumns(), maxColumns);
  writePaged(formatMarkdown(markdown, columns, createPaint(process.stdout)));
}

function printTopics(): void {
  const paint = createPaint(process.stdout);
  const width = Math.max(...helpTopics.map((name) => name.length)) + 2;
  const lines = helpGroups.flatMap(([title, topics]) => [
    paint(title, 'bold'),
    ...topics
      .flatMap(([name, summary]) => wrapIndented(name, summary, outColumns() - 2, width))
      .map((line) => `  ${line}`),
    '',
  ]);
  const more = 'nightrender help <topic> prints a page, nightrender <command> --help one command.';
  writePaged([...lines, ...wrapIndented('', more, outColumns(), 0)].join('\n'));
}
