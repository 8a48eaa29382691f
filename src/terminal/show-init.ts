/** What was made for a new batch, and what to do next. */
import { shellWord } from '../core/shell-word.ts';
import { writeOut } from './console.ts';

/** `needsKey`: whether the endpoint is a real one. */
export function showInit(made: { pipeline: string; manifest: string; needsKey: boolean }): void {
  const { pipeline, manifest, needsKey } = made;
  const file = shellWord(pipeline);
  const steps: [string, string][] = [
    ...(needsKey
      ? ([['export NIGHTRENDER_API_KEY=…', 'the key of your service, in no file']] as [string, string][])
      : []),
    [`nightrender plan ${file}${needsKey ? ' --check' : ''}`, 'what a run would do; nothing is sent'],
    ...(needsKey
      ? ([[`nightrender run ${file} --limit 3`, 'a preview; its pictures count']] as [string, string][])
      : []),
    [`nightrender run ${file}`, 'the pictures'],
  ];
  const width = Math.max(...steps.map(([command]) => command.length));
  const lines = steps.map(([command, what]) => `  ${command.padEnd(width)}   # ${what}`);
  writeOut(
    [`Made ${pipeline} and ${manifest}. Put your own scenes into the list; then:`, '', ...lines].join('\n'),
  );
}
