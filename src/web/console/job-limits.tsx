/** The limits of an endpoint's jobs. */
import type { JSX } from 'preact';
import type { PartProps } from './endpoint-draft.ts';
import { TextField } from './field.tsx';

const limits = [
  ['executionTimeout', 'Execution time-out', 'The longest a job may run: 30s, 10m, 2h.'],
  ['ttl', 'Time to live', 'From submission to end, the queue counted.'],
  ['retries', 'Retries', 'How often a job whose worker died is put back.'],
  ['maxQueued', 'Longest queue', 'More jobs are answered with 429.'],
] as const;

export function JobLimits({ draft, problems, onChange }: PartProps): JSX.Element {
  return (
    <section class="panel stack" aria-labelledby="limits">
      <h2 id="limits">Limits of jobs</h2>
      <div class="row">
        {limits.map(([field, label, hint]) => (
          <TextField
            key={field}
            class="short"
            label={label}
            hint={hint}
            problem={problems[field] ?? ''}
            value={draft[field]}
            onText={(text) => onChange({ [field]: text })}
          />
        ))}
      </div>
    </section>
  );
}
