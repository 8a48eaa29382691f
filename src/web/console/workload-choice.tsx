/** What an endpoint runs: quick deploy out of the catalogue beside custom deployment. */
import type { JSX } from 'preact';
import type { CatalogueEntry } from '../../protocol/console-data.ts';
import { gpuSizes, type Draft, type PartProps, type Runs } from './endpoint-draft.ts';
import { entryLack, needsWords } from './endpoint-words.ts';
import { Option } from './field.tsx';
import { RendererNotice } from './pieces.tsx';
import { useService } from './service.ts';

const ownCode: readonly [Runs, string, string][] = [
  ['image', 'Container image', 'Run by docker or podman.'],
  ['command', 'Command', 'A program that reads jobs and writes results as JSON lines.'],
  ['module', 'Module', 'A JavaScript file that exports a handler.'],
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

export function WorkloadChoice({ draft, problems, onChange }: PartProps): JSX.Element {
  const { overview, catalogue } = useService();
  const problem = problems['workload'] ?? '';
  const isWrong = problem !== '';
  const cards = catalogue.map((entry) => ({ entry, lack: entryLack(entry, overview) }));
  const card = cards.find(({ entry }) => isOf(entry, draft))?.entry;
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
              onChoose={() => onChange(filledFrom(entry, card))}
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
          {ownCode.map(([runs, name, means]) => (
            <Choice
              key={runs}
              name={name}
              means={means}
              isChosen={draft.runs === runs && card === undefined}
              isWrong={isWrong}
              onChoose={() => onChange({ runs, ...emptied(card) })}
            />
          ))}
        </fieldset>
      </div>
      {draft.runs === 'scene-renderer' && <RendererNotice />}
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
function isOf({ runs, environment }: CatalogueEntry, draft: Draft): boolean {
  if (!('image' in runs)) return draft.runs === runs.quickDeploy;
  const has = (name: string, value: string): boolean =>
    draft.environment.some((row) => row.name === name && row.value === value);
  return (
    draft.runs === 'image' &&
    draft.image === runs.image &&
    Object.entries(environment).every(([name, value]) => has(name, value))
  );
}

/** The form as the card has it. */
function filledFrom(
  { runs, needs, environment }: CatalogueEntry,
  before: CatalogueEntry | undefined,
): Partial<Draft> {
  if (!('image' in runs)) return { runs: runs.quickDeploy, ...emptied(before) };
  return {
    runs: 'image',
    image: runs.image,
    gpu: gpuSizes.find((size) => Number.parseInt(size, 10) >= needs.gpu) ?? 'none',
    environment: Object.entries(environment).map(([name, value], key) => ({ key, name, value })),
  };
}

/** What a card of an image had filled in. */
function emptied(card: CatalogueEntry | undefined): Partial<Draft> {
  return card !== undefined && 'image' in card.runs ? { image: '', gpu: 'none', environment: [] } : {};
}
