/** Makes the sections of README, manual and PROMISES.md that are generated from the code. */
import { commandList } from '../src/commands/command-line.ts';
import { helpGroups } from '../src/commands/help.ts';
import { descriptionSchema } from '../src/runner/config/read-description.ts';
import { pipelineSchema } from '../src/runner/config/pipeline-schema.ts';
import { attemptMoves } from '../src/runner/core/attempt.ts';
import { endings } from '../src/runner/core/ending.ts';
import { failureRules, type Consequence } from '../src/runner/core/failure.ts';
import type { JsonObject } from '../src/lib/text/json.ts';
import { idleReasons } from '../src/runner/core/run-stats.ts';
import { sceneMoves } from '../src/runner/core/scene.ts';
import { eventLines } from '../src/terminal/event-lines.ts';
import { promises } from './promises.ts';

export const readmeSections: Record<string, () => string> = {
  topics: () =>
    helpGroups
      .map(([title, topics]) =>
        [`## ${title}\n`, ...topics.map(([name, summary]) => `- [${name}](${name}.md): ${summary}`)].join(
          '\n',
        ),
      )
      .join('\n\n'),
  commands: () =>
    table(
      ['command', 'what it does'],
      commandList().map(([name, { takes, summary }]) => [`\`${`${name} ${takes}`.trim()}\``, summary]),
    ),
  'exit codes': () =>
    table(
      ['code', 'kind', 'means', 'resumable'],
      Object.entries(endings).map(([kind, { exitCode, means, isResumable }]) => [
        String(exitCode),
        `\`${kind}\``,
        means,
        isResumable ? 'yes' : '',
      ]),
    ),
  events: () =>
    table(
      ['type', 'says'],
      Object.entries(eventLines).map(([type, { description = '' }]) => [`\`${type}\``, description]),
    ),
  configuration: () => keyTable((key) => !isSeldomNeeded(key)),
  'seldom needed': () => keyTable(isSeldomNeeded),
  // The text above the table describes the methods of requests.
  description: () =>
    table(
      ['key', 'default', 'meaning'],
      keysOf(descriptionSchema()).filter(([, , meaning]) => meaning !== ''),
    ),
  states: () => `${movesTable('scene', sceneMoves)}\n\n${movesTable('attempt', attemptMoves)}`,
  failures: () =>
    table(
      ['kind', 'what came', 'whose', 'then'],
      Object.entries(failureRules).map(([kind, { means, whose, next }]) => [
        `\`${kind}\``,
        means,
        whose,
        next,
      ]),
    ),
  consequences: () => table(['then', 'what happens'], Object.entries(consequences)),
  'lane reasons': () =>
    table(
      ['reason', 'means'],
      Object.entries(idleReasons).map(([reason, means]) => [`\`${reason}\``, means]),
    ),
  promises: () => Object.entries(promises).map(promisesOf).join('\n\n'),
};

/** Keys that hardly anybody sets. A section stands for all of its keys. */
const seldomNeeded = [
  'proxy',
  'header',
  'encoding',
  'polling',
  'halt',
  'rate',
  'timeouts',
  'shutdown',
  'terminal',
  'skipRepeatedRows',
  'allowFewer',
  'acceptEdits',
  'retry.firstWait',
  'retry.longestWait',
  ...['version', 'statuses', 'policy', 'freshness'].map((key) => `endpoint.${key}`),
  ...['body', 'kept', 'memory', 'pixels'].map((key) => `limits.${key}`),
  ...['every', 'bom', 'separator'].map((key) => `report.${key}`),
];

function isSeldomNeeded(key: string): boolean {
  return seldomNeeded.some((each) => key === each || key.startsWith(`${each}.`));
}

function keyTable(isShown: (key: string) => boolean): string {
  const rows = keysOf(pipelineSchema()).filter(([key = '']) => isShown(key.replaceAll(/[*`]/g, '')));
  return table(['key', 'default', 'meaning'], rows);
}

/** Returns a row for each key. Keys of a section follow it. */
function keysOf(section: JsonObject, above = ''): string[][] {
  const required = new Set(section['required'] as string[] | undefined);
  return Object.entries(section['properties'] as Record<string, JsonObject>).flatMap(([key, each]) => {
    const { description, default: usual, properties } = each;
    const path = `${above}${key}`;
    const meaning = typeof description === 'string' ? description : '';
    if (properties !== undefined) return [[`**\`${path}\`**`, '', meaning], ...keysOf(each, `${path}.`)];
    const written = typeof usual === 'string' ? usual : JSON.stringify(usual);
    const otherwise = usual === undefined ? '' : `\`${written}\``;
    return [[`\`${path}\``, required.has(key) ? '**required**' : otherwise, meaning]];
  });
}

function promisesOf([group, list]: [string, Record<string, string>]): string {
  const lines = Object.entries(list).map(([says, file]) => `- ${says}<br><sub>[${file}](${file})</sub>`);
  return `## ${group}\n\n${lines.join('\n')}`;
}

const consequences: Record<Consequence, string> = {
  stop: 'the run stops; attempt and scene do not change',
  'try-again': 'the same request is sent again after a growing wait; no attempt is counted',
  resubmit:
    'the attempt is counted in the report, and the scene is submitted again, up to `retry.submissions`; an `unanswered` one only with `retry.unanswered: resubmit`, the default',
  hold: 'the attempt stays in flight, its answer is kept, and its scene waits for a setting',
  'put-back': 'the scene waits to be rendered again; the attempt does not count',
  'new-attempt':
    'another attempt, up to `retry.attempts`; the scene fails after that, or if exactly the same bytes come again',
  'new-attempt-once': 'one more attempt; then the scene fails',
  'fail-scene': 'the scene fails at once',
};

function movesTable(what: string, moves: Record<string, readonly string[]>): string {
  const rows = Object.entries(moves).map(([from, to]) => [
    `\`${from}\``,
    to.map((state) => `\`${state}\``).join(', '),
  ]);
  return table([what, 'may become'], rows);
}

/**
 * Returns a table without padding. Prettier would pad every row to the longest cell, and a change of one row could
 * change all rows.
 */
function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return ['<!-- prettier-ignore -->', line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
