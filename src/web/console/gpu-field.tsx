/** The GPU configuration of an endpoint. */
import type { JSX } from 'preact';
import { gpuSizes, hasDevices, type Draft, type PartProps } from './endpoint-draft.ts';
import { Field, TextField } from './field.tsx';

export function GpuField({ draft, problems, onChange }: PartProps): JSX.Element {
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
          hint="With commas between them: 0, 1."
          problem={problem}
          value={draft.gpuDevices}
          onText={(gpuDevices) => onChange({ gpuDevices })}
        />
      )}
    </div>
  );
}
