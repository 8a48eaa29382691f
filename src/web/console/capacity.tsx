/** How many workers an endpoint has, and what each may use. */
import type { JSX } from 'preact';
import { hasContainer, hasProcess, type PartProps } from './endpoint-draft.ts';
import { TextField } from './field.tsx';
import { GpuField } from './gpu-field.tsx';

export function Capacity({ draft, problems, onChange }: PartProps): JSX.Element {
  return (
    <section class="panel stack" aria-labelledby="capacity">
      <h2 id="capacity">Workers and GPU</h2>
      {draft.runs !== 'remote' && (
        <div class="row">
          <TextField
            class="short"
            label="Workers"
            inputMode="numeric"
            hint="At most so many at once."
            problem={problems['workers'] ?? ''}
            value={draft.workers}
            onText={(workers) => onChange({ workers })}
          />
          <div class="field">
            <label class="option">
              <input
                type="checkbox"
                checked={draft.quickStart}
                aria-describedby="quick-hint"
                onChange={(event) => onChange({ quickStart: event.currentTarget.checked })}
              />{' '}
              Quick start
            </label>
            <p id="quick-hint" class="hint">
              Keeps workers running between jobs. Without it they are started when a job comes, which takes
              longer.
            </p>
            <p class="problem">{problems['quickStart'] ?? ''}</p>
          </div>
        </div>
      )}
      <GpuField draft={draft} problems={problems} onChange={onChange} />
      {hasProcess(draft) && <Bounds draft={draft} problems={problems} onChange={onChange} />}
    </section>
  );
}

function Bounds({ draft, problems, onChange }: PartProps): JSX.Element {
  return (
    <div class="row">
      <TextField
        class="short"
        label="Memory"
        hint="Such as 8GB; empty for no bound."
        problem={problems['memory'] ?? ''}
        value={draft.memory}
        onText={(memory) => onChange({ memory })}
      />
      {hasContainer(draft) && (
        <TextField
          class="short"
          label="CPUs"
          inputMode="decimal"
          hint="Such as 2 or 0.5; empty for no bound."
          problem={problems['cpus'] ?? ''}
          value={draft.cpus}
          onText={(cpus) => onChange({ cpus })}
        />
      )}
    </div>
  );
}
