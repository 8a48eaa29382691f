/** What an endpoint runs: quick deploy out of the catalogue beside custom deployment. */
import type { JSX } from 'preact';
import type { CatalogueEntry } from '../../protocol/console-data.ts';
import { problemAt, sectionOf, type Draft, type PartProps, type WorkloadKey } from './endpoint-draft.ts';
import { gpuSizes } from './endpoint-inputs.tsx';
import { currentName, entryLack, needsWords } from './endpoint-words.ts';
import { Option } from './field.tsx';
import { useService } from './service.ts';

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
