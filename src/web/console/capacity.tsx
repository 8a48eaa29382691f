/** How many workers an endpoint has, and what each may use. */
import type { JSX } from 'preact';
import {
  hasContainer,
  hasProcess,
  type PartProps,
  gpuSizes,
  hasDevices,
  type Draft,
} from './endpoint-draft.ts';
import { TextField, Field } from './field.tsx';

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
            hint="Maximum at the same time."
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
        hint="Such as 8GB; empty for no limit."
        problem={problems['memory'] ?? ''}
        value={draft.memory}
        onText={(memory) => onChange({ memory })}
      />
      {hasContainer(draft) && (
        <TextField
          class="short"
          label="CPUs"
          inputMode="decimal"
          hint="Such as 2 or 0.5; empty for no limit."
          problem={problems['cpus'] ?? ''}
          value={draft.cpus}
          onText={(cpus) => onChange({ cpus })}
        />
      )}
    </div>
  );
}

/** The GPU configuration of an endpoint. */
function GpuField({ draft, problems, onChange }: PartProps): JSX.Element {
  const gpu = draft.gpu === 'devices' && !hasDevices(draft) ? 'none' : draft.gpu;
  const problem = problems['gpu'] ?? '';
  const isChosen = gpu !== 'label' && gpu !== 'devices';
  return (
    <div class="row">
      <Field
        label="GPU configuration"
        hint="A size is a label for people; devices of this machine are what workers can be given."
        problem={isChosen ? problem : ''}
      >
        {(attributes) => (
          <select
            {...attributes}
            value={gpu}
            onChange={(event) => onChange({ gpu: event.currentTarget.value as Draft['gpu'] })}
          >
            <option value="none">none</option>
            {gpuSizes.map((size) => (
              <option key={size} value={size}>
                {size}
              </option>
            ))}
            <option value="label">another label …</option>
            {hasDevices(draft) && <option value="devices">devices of this machine …</option>}
          </select>
        )}
      </Field>
      {gpu === 'label' && (
        <TextField
          label="GPU label"
          problem={problem}
          value={draft.gpuLabel}
          onText={(gpuLabel) => onChange({ gpuLabel })}
        />
      )}
      {gpu === 'devices' && (
        <TextField
          label="GPU devices"
          hint="Separated by commas: 0, 1."
          problem={problem}
          value={draft.gpuDevices}
          onText={(gpuDevices) => onChange({ gpuDevices })}
        />
      )}
    </div>
  );
}
