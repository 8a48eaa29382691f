/** What an endpoint runs: quick deploy beside custom deployment. */
import type { JSX } from 'preact';
import type { PartProps, Runs } from './endpoint-draft.ts';
import { Option } from './field.tsx';
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
              <Option
                key={runs}
                type="radio"
                class="choice"
                checked={draft.runs === runs}
                name="runs"
                aria-invalid={draft.runs === runs && problem !== ''}
                aria-describedby="workload-problem"
                onCheck={() => onChange({ runs })}
              >
                <span>
                  <strong>{name}</strong>
                  <small>{means}</small>
                </span>
              </Option>
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
