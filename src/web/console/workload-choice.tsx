/** What an endpoint runs: quick deploy beside custom deployment. */
import type { JSX } from 'preact';
import type { Draft, Runs, PartProps } from './endpoint-draft.ts';
import { RendererNotice } from './pieces.tsx';

const ways: readonly { title: string; text: string; choices: readonly [Runs, string, string][] }[] = [
  {
    title: 'Quick deploy',
    text: 'Ready to use.',
    choices: [
      ['painter', 'painter', 'Paints the prompt in 2D. Needs no GPU.'],
      ['scene-renderer', 'scene-renderer', 'Renders the prompt in 3D on a GPU.'],
    ],
  },
  {
    title: 'Custom deployment',
    text: 'Your own code.',
    choices: [
      ['image', 'Container image', 'Run by docker or podman.'],
      ['command', 'Command', 'A program that reads jobs and writes results as JSON lines.'],
      ['module', 'Module', 'A JavaScript file that exports a handler.'],
      ['remote', 'Workers elsewhere', 'Other machines pull the jobs with a worker key.'],
    ],
  },
];

export function WorkloadChoice({ draft, problems, onChange }: PartProps): JSX.Element {
  const problem = problems['workload'] ?? '';
  return (
    <div class="stack">
      <div class="columns even">
        {ways.map(({ title, text, choices }) => (
          <fieldset key={title} class="card">
            <legend>
              {title} <small>{text}</small>
            </legend>
            {choices.map(([runs, name, means]) => (
              <Choice
                key={runs}
                runs={runs}
                name={name}
                means={means}
                draft={draft}
                onChange={onChange}
                isBad={problem !== ''}
              />
            ))}
          </fieldset>
        ))}
      </div>
      {draft.runs === 'scene-renderer' && <RendererNotice />}
      <p id="workload-problem" class="problem">
        {problem}
      </p>
    </div>
  );
}

interface ChoiceProps {
  runs: Runs;
  name: string;
  means: string;
  draft: Draft;
  isBad: boolean;
  onChange(change: Partial<Draft>): void;
}

function Choice({ runs, name, means, draft, isBad, onChange }: ChoiceProps): JSX.Element {
  const isChosen = draft.runs === runs;
  return (
    <label class="option choice">
      <input
        type="radio"
        name="runs"
        value={runs}
        checked={isChosen}
        aria-invalid={isChosen && isBad}
        aria-describedby="workload-problem"
        onChange={() => onChange({ runs })}
      />
      <span>
        <strong>{name}</strong>
        <small>{means}</small>
      </span>
    </label>
  );
}
