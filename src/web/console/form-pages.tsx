/** Creating an endpoint, and changing one. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EndpointView } from '../../protocol/console-data.ts';
import { ask } from './ask.ts';
import { EndpointForm } from './endpoint-form.tsx';
import { NothingHere } from './pieces.tsx';
import { to } from './route.ts';
import { useEndpoint, useService } from './service.ts';

export function NewPage(): JSX.Element {
  const arrive = useArrival();
  const { id: _, name: _name, ...begun } = useService().schema.default;
  return (
    <>
      <h1>New endpoint</h1>
      <EndpointForm
        draft={begun}
        isNew
        action="Create endpoint"
        back={to.overview}
        onSave={async (form) => arrive(await ask<EndpointView>('POST', 'endpoints', form), 'created')}
      />
    </>
  );
}

/** Goes to the page of an endpoint once there is something to be shown of it. */
function useArrival(): (endpoint: EndpointView, done: string) => Promise<void> {
  const { refresh, say } = useService();
  return async ({ settings: { id, name } }, done) => {
    await refresh();
    say(`Endpoint “${name}” is ${done}.`, to.endpoint(id));
    location.hash = to.endpoint(id);
  };
}

export function EditPage({ id }: { id: string }): JSX.Element {
  const arrive = useArrival();
  const { overview } = useService();
  const endpoint = useEndpoint(id);
  // What is typed is not taken away by what the service tells meanwhile.
  const [opened] = useState(endpoint);
  if (opened === undefined)
    return <NothingHere title={`Endpoint ${id}`} text="There is no such endpoint." back={to.overview} />;
  if (opened.origin === 'file')
    return (
      <NothingHere
        title={opened.settings.name}
        text={
          overview.file === null
            ? 'This is the default endpoint of a service without a file.'
            : `Edit this endpoint in ${overview.file}.`
        }
        back={to.endpoint(id)}
      />
    );
  return (
    <>
      <h1>
        Edit <bdi>{opened.settings.name}</bdi>
      </h1>
      <EndpointForm
        draft={opened.settings}
        isNew={false}
        action="Save changes"
        back={to.endpoint(id)}
        onSave={async (form) =>
          arrive(await ask<EndpointView>('PUT', `endpoints/${encodeURIComponent(id)}`, form), 'changed')
        }
      />
    </>
  );
}
