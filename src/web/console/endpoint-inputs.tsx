/** Inputs of an endpoint for what it runs, and for what may be one value or keys of its own: its workers, where they run, and their GPU. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FieldSchema, CatalogueEntry } from '../../protocol/console-data.ts';
import { Select } from '../shared/choices.tsx';
import {
  isSection,
  list,
  problemAt,
  sectionOf,
  usedKeys,
  withKey,
  type PartProps,
  type Draft,
  type WorkloadKey,
} from './endpoint-draft.ts';
import { currentName, entryLack, needsWords } from './endpoint-words.ts';
import { Coded, Field, Option } from './field.tsx';
import { labelOf, sentence, TypedField } from './typed-field.tsx';
import { useService } from './service.ts';

/** Its way with keys of its own. */
function sectionSchema(schema: FieldSchema | undefined): Record<string, FieldSchema> {
  return schema?.anyOf?.find(({ properties }) => properties !== undefined)?.properties ?? {};
}

/** A number, or with `min` and `idle` a range. */
export function WorkersFields({ draft, schema, problems, onChange }: PartProps): JSX.Element {
  const all = schema.properties?.['workers'] ?? {};
  const range = isSection(draft['workers']) ? draft['workers'] : { max: draft['workers'] };
  const change = (key: string, value: unknown): void => {
    const { max, ...others } = withKey(range, key, value) ?? {};
    onChange({ workers: Object.keys(others).length === 0 ? max : { ...others, max } });
  };
  const { max: _max, ...others } = sectionSchema(all);
  const isWhole = problems.some(({ field }) => field === 'workers' || field === 'workers.max');
  return (
    <>
      <TypedField
        path="workers"
        schema={all}
        value={range['max']}
        problem={isWhole ? problemAt(problems, 'workers') : ''}
        onValue={(value) => change('max', value)}
      />
      {Object.entries(others).map(([key, each]) => (
        <TypedField
          key={key}
          path={`workers.${key}`}
          schema={each}
          value={range[key]}
          problem={isWhole ? '' : problemAt(problems, `workers.${key}`)}
          onValue={(value) => change(key, value)}
        />
      ))}
    </>
  );
}

/** Nothing for this machine. */
export function ClusterFields({ draft, schema, problems, onChange }: PartProps): JSX.Element {
  const { on } = draft;
  const all = schema.properties?.['on'] ?? {};
  const isOfOptions = problems.some(({ field }) => field.startsWith('on.slurm'));
  const problem = problemAt(problems, 'on');
  return (
    <>
      <SelectField
        path="on"
        schema={all}
        options={[
          ['', 'this machine'],
          ['slurm', 'Slurm'],
        ]}
        chosen={on === undefined ? '' : 'slurm'}
        problem={isOfOptions ? '' : problem}
        onChoose={(chosen) => onChange({ on: chosen || undefined })}
      />
      {on !== undefined && (
        <TypedField
          path="on.slurm"
          schema={sectionSchema(all)['slurm'] ?? {}}
          value={sectionOf(on)['slurm']}
          problem={isOfOptions ? problem : ''}
          onValue={(slurm) => onChange({ on: slurm === undefined ? 'slurm' : { slurm } })}
        />
      )}
    </>
  );
}

export const gpuSizes = ['16 GB', '24 GB', '32 GB', '48 GB', '80 GB'];

/** A size for people, another label, or devices. */
export function GpuFields({ draft, kind, schema, problems, onChange }: PartProps): JSX.Element {
  const { gpu, quickDeploy } = draft;
  const all = schema.properties?.['gpu'] ?? {};
  const [isLabel, setIsLabel] = useState(false);
  const ofText = !isLabel && gpuSizes.some((size) => size === gpu) ? String(gpu) : 'label';
  const way = gpu === undefined ? 'none' : isSection(gpu) ? 'devices' : ofText;
  // It draws on the processor.
  const hasDevices =
    usedKeys(schema, draft, kind).includes('environment') &&
    (kind !== 'quickDeploy' || currentName(quickDeploy) !== 'scene-renderer');
  const options = [
    ['none', 'none'],
    ...gpuSizes.map((size) => [size, size]),
    ['label', 'another label …'],
    ...(hasDevices || way === 'devices' ? [['devices', 'devices of this machine …']] : []),
  ] as [string, string][];
  const choose = (chosen: string): void => {
    setIsLabel(chosen === 'label');
    const values: Record<string, unknown> = { none: undefined, label: '', devices: { devices: [] } };
    onChange({ gpu: chosen in values ? values[chosen] : chosen });
  };
  const problem = problemAt(problems, 'gpu');
  const isTyped = way === 'label' || way === 'devices';
  return (
    <>
      <SelectField
        path="gpu"
        schema={all}
        options={options}
        chosen={way}
        problem={isTyped ? '' : problem}
        onChoose={choose}
      />
      {way === 'label' && (
        <TypedField
          path="gpu.label"
          label="GPU label"
          schema={{ description: 'such as 2 × L40S' }}
          value={gpu || undefined}
          problem={problem}
          onValue={(label) => onChange({ gpu: label ?? '' })}
        />
      )}
      {way === 'devices' && (
        <TypedField
          path="gpu.devices"
          schema={sectionSchema(all)['devices'] ?? {}}
          typed={list}
          value={sectionOf(gpu)['devices']}
          problem={problem}
          onValue={(devices) => onChange({ gpu: { devices } })}
        />
      )}
    </>
  );
}

interface SelectProps {
  path: string;
  schema: FieldSchema;
  options: [string, string][];
  chosen: string;
  problem: string;
  onChoose(chosen: string): void;
}

function SelectField({ path, schema, problem, ...rest }: SelectProps): JSX.Element {
  return (
    <Field
      label={labelOf(path, schema)}
      hint={<Coded text={sentence(schema.description)} />}
      problem={problem}
    >
      {(attributes) => <Select attributes={{ ...attributes, name: path }} {...rest} />}
    </Field>
  );
}

const ownCode: readonly [WorkloadKey, string, string][] = [
  ['image', 'Container image', 'Run by docker or podman.'],
  ['command', 'Command', 'A program that reads jobs and writes results as JSON lines.'],
  ['module', 'Module', 'A JavaScript file that exports a handler.'],
  ['comfyui', 'ComfyUI', 'Boxes that run a workflow, one worker each.'],
  ['remote', 'Workers elsewhere', 'Other machines pull the jobs with a worker key.'],
];

interface ChoiceProps {
  name: string;
  means: string;
  /** What it needs, or what is lacking for it. */
  note?: string;
  isChosen: boolean;
  isLacking?: boolean;
  isWrong: boolean;
  onChoose(): void;
}

/** Chooses what an endpoint runs: quick deploy out of the catalogue, or custom deployment. */
export function WorkloadChoice({ draft, kind, problems, onChange }: PartProps): JSX.Element {
  const { overview, catalogue } = useService();
  const problem = problemAt(problems, 'quickDeploy', 'remote');
  const isWrong = problem !== '';
  const cards = catalogue.map((entry) => ({ entry, lack: entryLack(entry, overview) }));
  const card = cards.find(({ entry }) => isOf(entry, draft, kind))?.entry;
  return (
    <div class="stack">
      <div class="columns even">
        <fieldset class="card">
          <legend>
            Quick deploy <small>Ready to use.</small>
          </legend>
          {cards.map(({ entry, lack }) => (
            <Choice
              key={entry.id}
              name={entry.title}
              means={entry.text}
              note={'image' in entry.runs ? (lack ?? needsWords(entry)) : ''}
              isChosen={entry === card}
              isLacking={lack !== null}
              isWrong={isWrong}
              onChoose={() =>
                onChange(filledFrom(entry, card), 'image' in entry.runs ? 'image' : 'quickDeploy')
              }
            />
          ))}
          {cards.some(({ lack }) => lack !== null) && (
            <p class="hint">What this machine lacks another one may have: choose workers elsewhere.</p>
          )}
        </fieldset>
        <fieldset class="card">
          <legend>
            Custom deployment <small>Your own code.</small>
          </legend>
          {ownCode.map(([key, name, means]) => (
            <Choice
              key={key}
              name={name}
              means={means}
              isChosen={kind === key && card === undefined}
              isWrong={isWrong}
              onChoose={() => onChange({ ...emptied(card), ...(key === 'remote' && { remote: true }) }, key)}
            />
          ))}
        </fieldset>
      </div>
      <p id="workload-problem" class="problem">
        {problem}
      </p>
    </div>
  );
}

function Choice(props: ChoiceProps): JSX.Element {
  const { name, means, note = '', isChosen, isLacking = false, isWrong, onChoose } = props;
  return (
    <Option
      type="radio"
      class="choice"
      checked={isChosen}
      disabled={isLacking && !isChosen}
      name="runs"
      aria-invalid={isChosen && isWrong}
      aria-describedby="workload-problem"
      onCheck={onChoose}
    >
      <span>
        <strong>{name}</strong>
        <small>{means}</small>
        {note !== '' && <small class="needs">{note}</small>}
      </span>
    </Option>
  );
}

/** Cards of one image differ in their environment. */
function isOf({ runs, environment }: CatalogueEntry, draft: Draft, kind: WorkloadKey): boolean {
  if (!('image' in runs)) return kind === 'quickDeploy' && currentName(draft[kind]) === runs.quickDeploy;
  const given = sectionOf(draft['environment']);
  const hasAll = Object.entries(environment).every(([name, value]) => given[name] === value);
  return kind === 'image' && draft[kind] === runs.image && hasAll;
}

/** The form as the card has it. */
function filledFrom({ runs, needs, environment }: CatalogueEntry, before: CatalogueEntry | undefined): Draft {
  if (!('image' in runs)) return { quickDeploy: runs.quickDeploy, ...emptied(before) };
  return {
    image: runs.image,
    gpu: gpuSizes.find((size) => Number.parseInt(size, 10) >= needs.gpu),
    environment: Object.keys(environment).length === 0 ? undefined : environment,
  };
}

/** What a card of an image had filled in. */
function emptied(card: CatalogueEntry | undefined): Draft {
  return card !== undefined && 'image' in card.runs
    ? { image: undefined, gpu: undefined, environment: undefined }
    : {};
}
