/** What has to be known of a custom deployment, how many workers an endpoint has, and what each may use. */
import type { JSX } from 'preact';
import { Select } from '../shared/choices.tsx';
import {
  gpuSizes,
  hasContainer,
  hasDevices,
  hasProcess,
  type Draft,
  type PartProps,
} from './endpoint-draft.ts';
import { Field, Option, TextField } from './field.tsx';
import { Card } from './pieces.tsx';

interface Line {
  /** What is typed into it. */
  of: Exclude<keyof Draft, 'runs' | 'gpu' | 'environment' | 'isIdTyped' | 'quickStart'>;
  /** What the service calls it, where it is another name. */
  field?: string;
  label: string;
  hint?: string;
  class?: string;
  placeholder?: string;
  inputMode?: 'numeric' | 'decimal';
  onText?(text: string): void;
}

/** A field of the draft in which text is typed. */
export function DraftField({
  draft,
  problems,
  onChange,
  of,
  field = of,
  ...rest
}: PartProps & Line): JSX.Element {
  return (
    <TextField
      problem={problems[field] ?? ''}
      value={draft[of]}
      onText={(text) => onChange({ [of]: text })}
      {...rest}
    />
  );
}

const titles = {
  blender: 'Blender',
  image: 'Container image',
  command: 'Command',
  module: 'Module',
} as const;

const lines: Record<keyof typeof titles, Line[]> = {
  blender: [
    {
      of: 'assets',
      field: 'workload.assets',
      label: 'Folder of files',
      placeholder: '/srv/models',
      hint: 'Jobs may name .blend, glTF and OBJ files in it. None by default.',
    },
    {
      of: 'scripts',
      field: 'workload.scripts',
      label: 'Folder of scripts',
      placeholder: 'none',
      hint: 'Jobs may run Python scripts in it, with the rights of the service.',
    },
  ],
  image: [
    {
      of: 'image',
      field: 'workload.image',
      label: 'Image',
      placeholder: 'registry_user/image_name:tag',
      hint: 'Built for linux/amd64.',
    },
    {
      of: 'imageArguments',
      field: 'workload.arguments',
      label: 'Further arguments',
      placeholder: '--shm-size=1g',
      hint: 'For docker run or podman run, each value behind its =.',
    },
  ],
  command: [
    {
      of: 'command',
      field: 'workload.command',
      label: 'Command',
      placeholder: 'python worker.py',
      hint: 'The program and its arguments; quote arguments with spaces. No shell is used.',
    },
    {
      of: 'cwd',
      field: 'workload.cwd',
      label: 'Folder',
      placeholder: 'that of the service',
      hint: 'Working directory.',
    },
  ],
  module: [
    {
      of: 'modulePath',
      field: 'workload.path',
      label: 'File of the module',
      placeholder: '/srv/worker.mjs',
      hint: 'An absolute path on the machine of the service.',
    },
  ],
};

export function WorkloadFields(part: PartProps): JSX.Element | null {
  const { runs } = part.draft;
  if (runs === 'remote')
    return (
      <p class="message calm">
        The service starts no workers for this endpoint. Once it is made, its page tells what a worker
        elsewhere needs to pull jobs.
      </p>
    );
  if (runs === 'painter' || runs === 'scene-renderer') return null;
  return (
    <Card title={titles[runs]}>
      <div class="row top">
        {lines[runs].map((line) => (
          <DraftField key={line.of} {...part} {...line} />
        ))}
      </div>
    </Card>
  );
}

export function Capacity(part: PartProps): JSX.Element {
  const { draft, problems, onChange } = part;
  return (
    <Card title="Workers and GPU">
      {draft.runs !== 'remote' && (
        <div class="row top">
          <DraftField
            {...part}
            of="workers"
            class="short"
            label="Workers"
            inputMode="numeric"
            hint="Maximum at the same time."
          />
          <div class="field">
            <Option
              checked={draft.quickStart}
              aria-describedby="quick-hint"
              onCheck={(quickStart) => onChange({ quickStart })}
            >
              Quick start
            </Option>
            <p id="quick-hint" class="hint">
              Keeps workers running between jobs. Without it they are started when a job comes, which takes
              longer.
            </p>
            <p class="problem">{problems['quickStart'] ?? ''}</p>
          </div>
        </div>
      )}
      <GpuField {...part} />
      {hasProcess(draft) && (
        <div class="row top">
          <DraftField
            {...part}
            of="memory"
            class="short"
            label="Memory"
            placeholder="no limit"
            hint="Such as 8GB."
          />
          {hasContainer(draft) && (
            <DraftField
              {...part}
              of="cpus"
              class="short"
              label="CPUs"
              inputMode="decimal"
              placeholder="no limit"
              hint="Such as 2 or 0.5."
            />
          )}
        </div>
      )}
    </Card>
  );
}

/** The GPU configuration of an endpoint. */
function GpuField(part: PartProps): JSX.Element {
  const { draft, problems, onChange } = part;
  const gpu = draft.gpu === 'devices' && !hasDevices(draft) ? 'none' : draft.gpu;
  const isTyped = gpu === 'label' || gpu === 'devices';
  const options: [Draft['gpu'], string][] = [
    ['none', 'none'],
    ...gpuSizes.map((size): [Draft['gpu'], string] => [size, size]),
    ['label', 'another label …'],
    ...(hasDevices(draft) ? [['devices', 'devices of this machine …'] satisfies [Draft['gpu'], string]] : []),
  ];
  return (
    <div class="row top">
      <Field
        label="GPU configuration"
        hint="A size is a label for people; devices of this machine are what workers can be given."
        problem={isTyped ? '' : (problems['gpu'] ?? '')}
      >
        {(attributes) => (
          <Select
            attributes={attributes}
            options={options}
            chosen={gpu}
            onChoose={(chosen) => onChange({ gpu: chosen })}
          />
        )}
      </Field>
      {gpu === 'label' && <DraftField {...part} of="gpuLabel" field="gpu" label="GPU label" />}
      {gpu === 'devices' && (
        <DraftField
          {...part}
          of="gpuDevices"
          field="gpu"
          label="GPU devices"
          placeholder="0, 1"
          hint="Separated by commas."
        />
      )}
    </div>
  );
}
