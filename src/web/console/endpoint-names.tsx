/** What an endpoint is called. */
import type { JSX } from 'preact';
import { idFromName, type PartProps } from './endpoint-draft.ts';
import { TextField } from './field.tsx';
import { useService } from './service.ts';

export function Names({ draft, problems, onChange, isNew }: PartProps & { isNew: boolean }): JSX.Element {
  const url = useService().overview.url.replace(/\/+$/, '');
  return (
    <section class="panel stack" aria-labelledby="names">
      <h2 id="names">Name and address</h2>
      <div class="row">
        <TextField
          label="Name"
          hint="For people; no other endpoint has it."
          problem={problems['name'] ?? ''}
          value={draft.name}
          onText={(name) => onChange({ name, ...(!draft.isIdTyped && { id: idFromName(name) }) })}
        />
        {isNew ? (
          <TextField
            label="Id"
            hint={`Stands in its address: ${url}/v2/${draft.id === '' ? '…' : draft.id}/run`}
            problem={problems['id'] ?? ''}
            value={draft.id}
            onText={(id) => onChange({ id, isIdTyped: id !== '' })}
          />
        ) : (
          <p class="fixed">
            <span>Id</span>
            <code>{draft.id}</code>
            <span class="problem">{problems['id'] ?? ''}</span>
          </p>
        )}
      </div>
    </section>
  );
}
