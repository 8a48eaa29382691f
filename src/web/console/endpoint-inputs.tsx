/** Inputs of the endpoint form for the workload, the workers, where they run, and their GPU. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FieldSchema, CatalogueEntry, WorkloadForm } from '../../protocol/console-data.ts';
import { Select } from '../shared/choices.tsx';
import {
  isOfCard,
  isSection,
  problemAt,
  sectionOf,
  withKey,
  type PartProps,
  type Keys,
} from './endpoint-draft.ts';
import { entryLack } from './endpoint-words.ts';
import { Coded, Field, labelOf, Option, sentence, TypedField } from './form.tsx';
import { useService } from './route.ts';

/** Returns the properties of the alternative that is an object; empty if there is none. */
function sectionSchema(schema: FieldSchema | undefined): Record<string, FieldSchema> {
  return schema?.anyOf?.find(({ properties }) => properties !== undefined)?.properties ?? {};
}

type InputProps = PartProps & { schema: FieldSchema };

/** Number of workers, or a range with `min` and `idle`. */
function WorkersFields({ keys, schema: all, problems, onChange }: InputProps): JSX.Element {
  const { workers } = keys;
  const range: Keys = isSection(workers) ? workers : { max: workers };
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

/** Place of the workers. The key is left out for this machine. */
function ClusterFields({ keys, schema: all, problems, onChange }: InputProps): JSX.Element {
  const { on } = keys;
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

/** A GPU size, another label, or device numbers. */
function GpuFields({ keys, schema: all, problems, onChange }: InputProps): JSX.Element {
  const { gpu } = keys;
  const { gpuSizes } = useService().fields;
  const [isLabel, setIsLabel] = useState(false);
  const ofText = !isLabel && gpuSizes.some((size) => size === gpu) ? String(gpu) : 'label';
  const way = gpu === undefined ? 'none' : isSection(gpu) ? 'devices' : ofText;
  const { devices } = sectionSchema(all);
  const options = [
    ['none', 'none'],
    ...gpuSizes.map((size) => [size, size]),
    ['label', 'another label …'],
    ...(devices !== undefined || way === 'devices' ? [['devices', 'devices of this machine …']] : []),
  ] as [string, string][];
  const choose = (chosen: string): void => {
    setIsLabel(chosen === 'label');
    const values: Record<string, unknown> = { none: undefined, label: '', devices: { devices: '' } };
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
          schema={devices ?? { description: 'devices of this machine, which this workload does not use' }}
          value={sectionOf(gpu)['devices']}
          problem={problem}
          onValue={(given) => onChange({ gpu: { devices: given } })}
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

interface ChoiceProps {
  name: string;
  means: string;
  /** Requirements, or what this machine lacks. */
  note?: string;
  isChosen: boolean;
  isLacking?: boolean;
  isWrong: boolean;
  onChoose(): void;
}

/** Chooses the workload: quick deploy from the catalogue, or a custom deployment. */
export function WorkloadChoice({ keys, workload, problems, onChange }: PartProps): JSX.Element {
  const {
    overview,
    catalogue,
    fields: { workloads },
  } = useService();
  const unshown = workloads.filter(({ values }) => values !== undefined).map(({ key }) => key);
  const problem = problemAt(problems, ...new Set(unshown));
  const isWrong = problem !== '';
  const cards = catalogue.map((entry) => ({ entry, lack: entryLack(entry, overview) }));
  const card = cards.find(({ entry }) => isOf(entry, workload, keys))?.entry;
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
              onChoose={() => onChange(filledFrom(entry, card), workloadOfCard(entry, workloads))}
            />
          ))}
          {cards.some(({ lack }) => lack !== null) && (
            <p class="hint">Another machine may have what this one lacks: choose workers elsewhere.</p>
          )}
        </fieldset>
        <fieldset class="card">
          <legend>
            Custom deployment <small>Your own code.</small>
          </legend>
          {workloads.map(
            (each) =>
              each.choice !== undefined && (
                <Choice
                  key={each.key}
                  name={each.choice.title}
                  means={each.choice.means}
                  isChosen={each === workload && card === undefined}
                  isWrong={isWrong}
                  onChoose={() => onChange({ ...emptied(card), ...valueOf(each) }, each)}
                />
              ),
          )}
        </fieldset>
      </div>
      <p id="workload-problem" class="problem">
        {problem}
      </p>
    </div>
  );
}

function needsWords({ needs: { gpu, disk, pull } }: CatalogueEntry): string {
  return `Needs a GPU with ${gpu} GB and ${disk} GB of disk; pulls ${pull} GB.`;
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

/** Returns the workload's key with its value, if no field sets it. */
function valueOf({ key, values }: WorkloadForm): Keys {
  return values === undefined ? {} : { [key]: values.at(-1) };
}

/** True if the card is chosen. Cards with the same image differ in their environment, which may have more lines. */
function isOf(entry: CatalogueEntry, workload: WorkloadForm, keys: Keys): boolean {
  const { environment } = keys;
  const lines = typeof environment === 'string' ? environment.split('\n') : [];
  const wanted = entry.fills['environment']?.split('\n').filter((line) => line !== '') ?? [];
  return isOfCard(entry, workload, keys) && wanted.every((line) => lines.includes(line));
}

function workloadOfCard(entry: CatalogueEntry, all: WorkloadForm[]): WorkloadForm | undefined {
  return all.find((each) => isOfCard(entry, each, entry.runs));
}

/** Returns the keys that a card fills in. */
function filledFrom({ fills }: CatalogueEntry, before: CatalogueEntry | undefined): Keys {
  return { ...emptied(before), ...fills };
}

/** Clears the keys that a card has filled in. */
function emptied(card: CatalogueEntry | undefined): Keys {
  return Object.fromEntries(Object.keys(card?.fills ?? {}).map((key) => [key, undefined]));
}

/** Inputs of keys that take either one value or a section. Other keys get an input by their type. */
export const sectionInputs: Record<string, (part: InputProps) => JSX.Element> = {
  workers: WorkersFields,
  on: ClusterFields,
  gpu: GpuFields,
};
