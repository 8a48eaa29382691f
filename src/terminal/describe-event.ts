/** Events as lines for people. */
import type { RepeatedRows } from '../runner/core/batch-plan.ts';
import type { SceneName } from '../runner/core/naming.ts';
import { nounFor } from '../runner/core/picture.ts';
import { formatDuration, oneLine, plural } from '../lib/text/format.ts';
import type { Event } from '../runner/pipeline/event.ts';

/** Undefined for events that have no line. */
export function describeEvent(event: Event, now: number, shownDir: string): string | undefined {
  switch (event.type) {
    case 'run-started':
      return `${event.program}: ${event.manifest.join(', ')} → ${event.endpoint} → ${shownDir}${event.edits === undefined ? '' : `; warning: ${event.edits}`}`;
    case 'warning':
      return `warning: ${event.text}`;
    case 'plan-made':
      return describePlan(event);
    case 'adopted':
      return describeAdopted(event);
    case 'recovered':
      return describeRecovered(event);
    case 'scene-submitted':
    case 'job-status':
    case 'scene-saved':
    case 'run-stats':
    case 'service-health':
      return undefined;
    case 'attempt-failed':
      return describeFailure(event, now);
    case 'result-held':
      return `${sceneWords(event)}: ${event.text}; its result waits for ${event.setting}`;
    case 'request-troubled':
      return `${sceneWords(event)}: ${event.text}; asking again ${formatWait(event.waitMs)}`;
    case 'access-refused':
      return `refused: ${event.text}; it has worked in this run, so nothing more is submitted for now; asking again ${formatWait(event.waitMs)}`;
    case 'access-regained':
      return `the service accepts requests again after ${formatDuration(event.afterMs)}; the run continues`;
    case 'stopping':
      return `stopping: ${event.text}`;
    case 'run-ended':
      return undefined;
  }
}

function describePlan(event: Event & { type: 'plan-made' }): string {
  const { waiting, active, saved, failed, invalid } = event.counts;
  const { part } = event;
  const rest = plural(waiting + active, 'scene');
  const parts = [
    part === undefined
      ? `${rest} to render`
      : `a preview: ${(part.waiting + part.active).toLocaleString('en')} of ${rest} to render`,
    event.heldSeeds === undefined ? '' : `up to ${plural(event.heldSeeds, 'more seed')} if these fall short`,
    saved > 0 ? `${saved.toLocaleString('en')} saved already` : '',
    failed > 0 ? `${failed.toLocaleString('en')} failed before` : '',
    event.changed > 0 ? `${event.changed.toLocaleString('en')} edited since` : '',
    event.withdrawn > 0 ? `${event.withdrawn.toLocaleString('en')} no longer listed` : '',
    invalid > 0 ? `${plural(invalid, 'bad row')} skipped` : '',
  ];
  const all = parts.filter((text) => text !== '').join(', ');
  return event.repeated === undefined ? all : `${all}; ${describeRepeated(event.repeated)}`;
}

export function describeRepeated({ rows, isSkipped }: RepeatedRows): string {
  const repeat = `${plural(rows, 'row')} repeat${rows === 1 ? 's' : ''} a prompt of another row`;
  if (isSkipped) return `${repeat} and ${rows === 1 ? 'is' : 'are'} left out`;
  return `${repeat}; each is rendered (\`skipRepeatedRows: true\` renders each prompt once)`;
}

function describeAdopted(event: Event & { type: 'adopted' }): string {
  const { scenes, pictures, byName, unused, examples } = event;
  const noun = nounFor({ ...event, files: pictures });
  const doubt =
    byName === 0
      ? ''
      : `, ${byName.toLocaleString('en')} of them by name only: an edited row may have its old ${noun}`;
  const taken = `${plural(pictures, noun)} in the folder adopted for ${plural(scenes, 'scene')}${doubt}`;
  if (unused === 0) return taken;
  return `${taken}; ${unused.toLocaleString('en')} not used: ${examples.join('; ')}${unused > examples.length ? '; …' : ''}`;
}

function describeRecovered({ inFlight, unanswered }: Event & { type: 'recovered' }): string {
  const parts = [
    inFlight > 0
      ? `${plural(inFlight, 'job')} of the last run ${inFlight === 1 ? 'is' : 'are'} collected first`
      : '',
    unanswered > 0
      ? `${plural(unanswered, 'submission')} of the last run had no answer when it crashed: they may run and be billed`
      : '',
  ];
  return parts.filter((part) => part !== '').join('; ');
}

function describeFailure(event: Event & { type: 'attempt-failed' }, now: number): string {
  const doubt = event.kind === 'unanswered' ? '; it may run and be billed' : '';
  const what = `${sceneWords(event)}: attempt ${event.attempt}: ${event.text}${doubt}`;
  if (event.next === 'failed') return `${what}; the scene has failed (${event.kind})`;
  return `${what}; trying again ${formatWait((event.dueAt ?? now) - now)}`;
}

/** Name of a scene: `harbour`, or `a photo of a bench (e52f0289abcd)` if the list has no ids. */
export function sceneWords({ scene, prompt }: SceneName): string {
  return prompt === undefined ? scene : `${oneLine(prompt, maxPromptLength)} (${scene})`;
}

/** Characters; longer prompts would leave no room for the rest of the line. */
const maxPromptLength = 48;

/** Adds the number of jobs in flight if a limit stops the run, because they are still collected. */
export function stopWords({ ending }: Event & { type: 'stopping' }, text: string, inFlight: number): string {
  if (ending !== 'limit-reached' || inFlight <= 0) return text;
  return `${text}; ${plural(inFlight, 'job')} in flight ${inFlight === 1 ? 'is' : 'are'} still collected`;
}

function formatWait(ms: number): string {
  return ms < 500 ? 'at once' : `in ${formatDuration(ms)}`;
}
