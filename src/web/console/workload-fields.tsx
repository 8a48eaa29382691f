/** What has to be known of a custom deployment. */
import type { JSX } from 'preact';
import type { Draft, PartProps } from './endpoint-draft.ts';
import { TextField } from './field.tsx';

interface Line {
  key: 'image' | 'imageArguments' | 'command' | 'cwd' | 'modulePath';
  field: string;
  label: string;
  hint: string;
}

const lines: Partial<Record<Draft['runs'], Line[]>> = {
  image: [
    {
      key: 'image',
      field: 'workload.image',
      label: 'Image',
      hint: '<registry_user>/<image_name>:<tag>, built for linux/amd64.',
    },
    {
      key: 'imageArguments',
      field: 'workload.arguments',
      label: 'Further arguments',
      hint: 'For docker run or podman run, each value behind its =, such as --shm-size=1g.',
    },
  ],
  command: [
    {
      key: 'command',
      field: 'workload.command',
      label: 'Command',
      hint: 'The program and its arguments; quote arguments with spaces. No shell is used.',
    },
    { key: 'cwd', field: 'workload.cwd', label: 'Folder', hint: 'Working directory; optional.' },
  ],
  module: [
    {
      key: 'modulePath',
      field: 'workload.path',
      label: 'File of the module',
      hint: 'An absolute path on the machine of the service.',
    },
  ],
};

const titles = { image: 'Container image', command: 'Command', module: 'Module' } as const;

export function WorkloadFields({ draft, problems, onChange }: PartProps): JSX.Element | null {
  const { runs } = draft;
  if (runs === 'remote')
    return (
      <p class="notice calm">
        The service starts no workers for this endpoint. Once it is made, its page tells what a worker
        elsewhere needs to pull jobs.
      </p>
    );
  if (runs !== 'image' && runs !== 'command' && runs !== 'module') return null;
  return (
    <section class="panel stack" aria-labelledby="workload">
      <h2 id="workload">{titles[runs]}</h2>
      <div class="row">
        {lines[runs]?.map(({ key, field, label, hint }) => (
          <TextField
            key={key}
            label={label}
            hint={hint}
            problem={problems[field] ?? ''}
            value={draft[key]}
            onText={(text) => onChange({ [key]: text })}
          />
        ))}
      </div>
    </section>
  );
}
