/** What was made for a new batch or service, and what to do next. */
import { shellWord } from '../lib/text/format.ts';
import { writeOut } from './console.ts';

export interface ShownInit {
  pipeline: string;
  /** Undefined where the list was there before. */
  manifest?: string;
  schema: string;
  /** Whether the endpoint is a real one. */
  needsKey: boolean;
}

export function printInit({ pipeline, manifest, schema, needsKey }: ShownInit): void {
  const file = shellWord(pipeline);
  const run: [string, string] = [`nightrender run ${file}`, 'the pictures'];
  const steps: [string, string][] = needsKey
    ? [
        ['export NIGHTRENDER_API_KEY=…', 'the key of your service'],
        [`nightrender plan ${file} --check`, 'what a run would do; nothing is sent'],
        [`nightrender run ${file} --limit 3`, 'a preview; its pictures count'],
        run,
      ]
    : [[`nightrender plan ${file}`, 'what a run would do; nothing is sent'], run];
  const width = Math.max(...steps.map(([command]) => command.length));
  const lines = steps.map(([command, what]) => `  ${command.padEnd(width)}   # ${what}`);
  writeOut(
    [
      `Created ${[pipeline, ...(manifest === undefined ? [] : [manifest])].join(', ')} and ${schema} (a schema for editors).`,
      manifest === undefined ? 'Then:' : 'Put your scenes into the list, then:',
      '',
      ...lines,
    ].join('\n'),
  );
}

export function printServiceInit({ service, schema }: { service: string; schema: string }): void {
  writeOut(
    [
      `Created ${service} and ${schema} (a schema for editors).`,
      'It has two endpoints; comments show the other keys. Then:',
      '',
      `  nightrender serve ${shellWord(service)}`,
    ].join('\n'),
  );
}
