/** A form that submits a job to an endpoint and shows its progress and result. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { CatalogueEntry, EndpointView } from '../../protocol/console-data.ts';
import { Choices } from '../shared/choices.tsx';
import { ask, type Problem } from './ask.ts';
import { Form, OtherProblems, problemOf, useSending, Option, TextField } from './form.tsx';
import { FollowedJob } from './job-page.tsx';
import { useService, useWorkload } from './route.ts';

const ways = [
  ['fields', 'Scene'],
  ['json', 'JSON'],
] as const;

export function JobForm({ endpoint }: { endpoint: EndpointView }): JSX.Element {
  const { settings } = endpoint;
  const { refresh } = useService();
  const { workload, card: found } = useWorkload(endpoint);
  const isScene = workload.readsScenes;
  const card = isScene ? undefined : found;
  const [typed, setTyped] = useState<TypedInput>({
    ...nothingTyped,
    way: isScene ? 'fields' : 'json',
    text: card === undefined ? '' : JSON.stringify(card.example, null, 2),
  });
  const [terms, setTerms] = useState(noTerms);
  const [submitted, setSubmitted] = useState<string>();
  const sending = useSending(async () => {
    const input = inputOf(typed);
    const asked = termsOf(terms);
    if ('problems' in input || 'problems' in asked)
      return [input, asked].flatMap((read) => ('problems' in read ? read.problems : []));
    const path = `endpoints/${encodeURIComponent(settings.id)}/jobs`;
    setSubmitted((await ask<{ id: string }>('POST', path, { input: input.value, ...asked.value })).id);
    return void refresh();
  });
  const { problems, setProblems, isBusy } = sending;
  const turn = (way: TypedInput['way']): void => {
    const next = convertInput(typed, way);
    setProblems('problems' in next ? next.problems : []);
    if ('value' in next) setTyped(next.value);
  };
  const others = problems.filter(
    ({ field }) => field !== 'json' && !(field in typed.fields) && !(field in terms),
  );
  return (
    <>
      <Form sending={sending}>
        {isScene && (
          <Choices label="How the input is given" options={ways} chosen={typed.way} onChoose={turn} />
        )}
        {typed.way === 'fields' ? (
          <SceneFields
            fields={typed.fields}
            problems={problems}
            onFields={(change) => setTyped({ ...typed, fields: { ...typed.fields, ...change } })}
          />
        ) : (
          <TextField
            label="Input"
            hint={isScene ? 'The whole input of the job.' : inputHint(card)}
            placeholder={isScene ? undefined : '{"prompt": "A lighthouse on a cliff at dusk"}'}
            problem={problemOf(problems, 'json')}
            rows={isScene || card !== undefined ? 8 : 4}
            isCode
            value={typed.text}
            onText={(text) => setTyped({ ...typed, text })}
          />
        )}
        <TermsFields
          settings={settings}
          terms={terms}
          problems={problems}
          onTerms={(change) => setTerms({ ...terms, ...change })}
        />
        <OtherProblems texts={others.map(({ text }) => text)} />
        <p>
          <button type="submit" class="primary" aria-disabled={isBusy}>
            Submit job
          </button>
        </p>
      </Form>
      {submitted !== undefined && <FollowedJob key={submitted} id={submitted} />}
    </>
  );
}

function inputHint(card: CatalogueEntry | undefined): string {
  if (card === undefined) return 'JSON that your worker reads.';
  const keys = Object.entries(card.input).map(([key, means]) => `${key}: ${means}`);
  return `JSON. ${keys.join('. ')}.`;
}

interface SceneProps {
  fields: InputFields;
  problems: Problem[];
  onFields(change: Partial<InputFields>): void;
}

function SceneFields({ fields, problems, onFields }: SceneProps): JSX.Element {
  return (
    <>
      <TextField
        label="Scene"
        placeholder="A lighthouse on a cliff at dusk"
        problem={problemOf(problems, 'scene')}
        rows={3}
        value={fields.scene}
        onText={(scene) => onFields({ scene })}
      />
      <div class="row top">
        {(['seed', 'width', 'height'] as const).map((name) => (
          <TextField
            key={name}
            class="tiny"
            label={{ seed: 'Seed', width: 'Width', height: 'Height' }[name]}
            placeholder={{ seed: 'auto', width: '768', height: '512' }[name]}
            inputMode="numeric"
            problem={problemOf(problems, name)}
            value={fields[name]}
            onText={(text) => onFields({ [name]: text })}
          />
        ))}
      </div>
    </>
  );
}

interface TermsProps {
  settings: EndpointView['settings'];
  terms: TypedTerms;
  problems: Problem[];
  onTerms(change: Partial<TypedTerms>): void;
}

/** Collapsed, because few jobs need other limits than their endpoint's. */
function TermsFields({ settings, terms, problems, onTerms }: TermsProps): JSX.Element {
  const fields = [
    [
      'executionTimeout',
      'Execution time-out',
      'Maximum time in a worker.',
      textIn(settings['executionTimeout']),
    ],
    ['ttl', 'Time to live', 'From submission to end.', textIn(settings['ttl'])],
    ['webhook', 'Webhook', 'Receives the job when it ends.', 'https://…'],
  ] as const;
  const isWrong = fields.some(([field]) => problemOf(problems, field) !== '');
  return (
    <details open={isWrong || undefined}>
      <summary>Time-outs, priority, webhook</summary>
      <div class="row top">
        {fields.map(([field, label, hint, placeholder]) => (
          <TextField
            key={field}
            class={field === 'webhook' ? '' : 'short'}
            label={label}
            hint={hint}
            placeholder={placeholder}
            problem={problemOf(problems, field)}
            value={terms[field]}
            onText={(text) => onTerms({ [field]: text })}
          />
        ))}
      </div>
      <Option checked={terms.isLowPriority} onCheck={(isLowPriority) => onTerms({ isLowPriority })}>
        Low priority: after all other jobs
      </Option>
    </details>
  );
}

type JobInput = Record<string, unknown>;

type Read<T> = { value: T } | { problems: Problem[] };

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

const nothingTyped = {
  way: 'fields' as 'fields' | 'json',
  fields: { scene: '', seed: '', width: '', height: '' },
  /** Keys of the input that have no field. */
  others: {} as JobInput,
  /** Input as JSON. */
  text: '',
};

type TypedInput = typeof nothingTyped;

type InputFields = TypedInput['fields'];

const numbers = ['seed', 'width', 'height'] as const;

function inputOf({ way, fields, others, text }: TypedInput): Read<JobInput> {
  return way === 'json' ? readJson(text) : readFields(fields, others);
}

/** Converts the typed input between fields and JSON. Fields that are not valid yet are kept as text. */
function convertInput(typed: TypedInput, way: TypedInput['way']): Read<TypedInput> {
  if (way === typed.way) return { value: typed };
  if (way === 'fields') {
    const input = readJson(typed.text);
    return 'problems' in input ? input : { value: { ...typed, ...fieldsOf(input.value), way } };
  }
  const input = readFields(typed.fields, typed.others);
  const filled = Object.entries(typed.fields).filter(([name, text]) => name === 'scene' || text !== '');
  const value = 'value' in input ? input.value : { ...typed.others, ...Object.fromEntries(filled) };
  return { value: { ...typed, way, text: JSON.stringify(value, null, 2) } };
}

/** Reads the fields, and keeps keys without one. The worker chooses numbers that are left empty. */
function readFields(fields: InputFields, others: JobInput): Read<JobInput> {
  const problems: Problem[] = [];
  const value: JobInput = { scene: fields.scene, ...others };
  if (fields.scene.trim() === '') problems.push({ field: 'scene', text: 'Describe the picture to render.' });
  for (const name of numbers) {
    const text = fields[name].trim();
    if (text === '') continue;
    if (/^\d{1,15}$/.test(text)) value[name] = Number(text);
    else problems.push({ field: name, text: `“${text}” is not a whole number.` });
  }
  return problems.length > 0 ? { problems } : { value };
}

function readJson(text: string): Read<JobInput> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { value: value as JobInput };
    return { problems: [{ field: 'json', text: 'Expected an object: { … }.' }] };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { problems: [{ field: 'json', text: `Not valid JSON: ${reason}.` }] };
  }
}

function fieldsOf(input: JobInput): { fields: InputFields; others: JobInput } {
  const { scene, seed, width, height, ...others } = input;
  const fields = { scene: textOf(scene), seed: textOf(seed), width: textOf(width), height: textOf(height) };
  return { fields, others };
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Options sent along with the input. */
interface JobTerms {
  /** Durations in ms. */
  policy?: { executionTimeout?: number; ttl?: number; lowPriority?: true };
  webhook?: string;
}

const noTerms = { executionTimeout: '', ttl: '', isLowPriority: false, webhook: '' };

type TypedTerms = typeof noTerms;

function termsOf(typed: TypedTerms): Read<JobTerms> {
  const problems: Problem[] = [];
  const policy: NonNullable<JobTerms['policy']> = {};
  for (const field of ['executionTimeout', 'ttl'] as const) {
    const text = typed[field].trim();
    if (text === '') continue;
    const ms = durationOf(text);
    if (ms === undefined)
      problems.push({ field, text: `“${text}” is not a duration such as 30s, 10m or 2h.` });
    else policy[field] = ms;
  }
  if (typed.isLowPriority) policy.lowPriority = true;
  const webhook = typed.webhook.trim();
  if (webhook !== '' && !isWebhook(webhook))
    problems.push({ field: 'webhook', text: 'Expected a URL that begins with http:// or https://.' });
  if (problems.length > 0) return { problems };
  return {
    value: { ...(Object.keys(policy).length > 0 && { policy }), ...(webhook !== '' && { webhook }) },
  };
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads a duration such as `90s` or `1h 30m` into ms. Undefined if it isn't one, or shorter than 1 ms. */
function durationOf(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?\s*(ms|s|m|h|d)\s*)+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/([\d.]+)\s*(ms|s|m|h|d)/g)];
  const ms = parts.reduce(
    (sum, [, count, unit]) => sum + Number(count) * unitMs[unit as keyof typeof unitMs],
    0,
  );
  return ms < 1 ? undefined : Math.round(ms);
}

function isWebhook(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
