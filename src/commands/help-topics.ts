/** The topics of the manual, in the order in which people need them: each is a page of `src/help`. */

/** By group: what a page answers, by its name. No topic is called as a command is: `help run` tells of the command. */
const groups = {
  'First steps': {
    start: 'install, render, and make a batch of your own',
    commands: 'every command, and options that all share',
    endpoint: 'render on a real service: address, key, what it must speak',
  },
  'What to render': {
    manifest: 'lists of scenes: formats, ids, types, bad rows, edits',
    matrix: 'every row with every combination of values; several seeds',
    'input-files': 'send local pictures and other files with a job',
    'pipeline-file': 'pipeline.yaml: every key and its default; templates',
  },
  'The night': {
    before: 'see what a run would do and cost; render a preview',
    watching: 'follow a run in the terminal, from another one, in a browser',
    notifications: 'be told by a monitor, a chat, a webhook or a command',
    cron: 'run every night: cron, systemd, logs',
    money: 'what a night may cost, and how to limit it',
    resume: 'stop, resume, exit codes, jobs in flight, a lost checkpoint',
  },
  'In the morning': {
    morning: 'gallery, lists, retry, verify',
    performance: 'what kept a run from being faster',
    files: 'what is in the output folder; names, copies, metadata, downloads',
  },
  'When something is wrong': {
    troubleshooting: 'symptom, meaning, what to do',
    failures: 'kinds of failure, and what each leads to',
    states: 'states of scenes and attempts, and which are billed',
    checkpoint: 'the journal: tables, SQL, locks, damage, copies',
  },
  'For programs and administrators': {
    programs: '--json, --log, and files to read from scripts',
    security: 'who sees keys, prompts and pictures, and who can reach what',
  },
  'A service of your own': {
    service: 'run the job service: endpoints, workloads, limits',
    workers: 'workers on other machines, and keys',
    console: 'endpoints, jobs and workers in the browser',
    'job-interface': 'the operations of the service',
    'scene-renderer': 'the renderer that draws what the words say',
  },
} as const satisfies Record<string, Record<string, string>>;

export const helpGroups: [title: string, topics: [name: string, summary: string][]][] = Object.entries(
  groups,
).map(([title, topics]) => [title, Object.entries(topics)]);

export const helpTopics: string[] = helpGroups.flatMap(([, topics]) => topics.map(([name]) => name));

/** What is shown where no topic is given. */
export const topicList = 'topics';
