/** The form of an endpoint. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { EndpointForm as EndpointSettings } from '../../protocol/console-data.ts';
import { Capacity } from './capacity.tsx';
import { formOf, hasProgram, type Draft, type PartProps } from './endpoint-draft.ts';
import { Names } from './endpoint-names.tsx';
import { placeProblems } from './endpoint-problems.ts';
import { EnvironmentRows } from './environment-rows.tsx';
import { Form, OtherProblems, useSending } from './form.tsx';
import { JobLimits } from './job-limits.tsx';
import { WorkloadChoice } from './workload-choice.tsx';
import { WorkloadFields } from './workload-fields.tsx';

interface Props {
  draft: Draft;
  isNew: boolean;
  /** What is done, on the button. */
  action: string;
  /** Where it is left for. */
  back: string;
  /** Rejects with what the service has against it. */
  onSave(form: EndpointSettings): Promise<void>;
}

export function EndpointForm({ draft: first, isNew, action, back, onSave }: Props): JSX.Element {
  const [draft, setDraft] = useState(first);
  const sending = useSending(async () => {
    const read = formOf(draft);
    if ('problems' in read) return read.problems;
    await onSave(read.form);
    return [];
  });
  const { problems, isBusy } = sending;
  const { beside, above } = useMemo(() => placeProblems(problems, draft.runs), [problems, draft.runs]);
  const part: PartProps = {
    draft,
    problems: beside,
    onChange: (change) => setDraft((before) => ({ ...before, ...change })),
  };
  return (
    <Form sending={sending} class="stack wide">
      <OtherProblems texts={above} />
      <WorkloadChoice {...part} />
      <Names {...part} isNew={isNew} />
      <WorkloadFields {...part} />
      <Capacity {...part} />
      <JobLimits {...part} />
      {hasProgram(draft) && (
        <section class="panel stack" aria-labelledby="environment">
          <h2 id="environment">Environment</h2>
          <EnvironmentRows {...part} />
        </section>
      )}
      <p class="unseen" role="status">
        {problems.length > 0 ? 'Not saved: something has to be changed first.' : ''}
      </p>
      <div class="buttons sticky">
        <button type="submit" class="primary" aria-disabled={isBusy}>
          {action}
        </button>
        <a class="button" href={back}>
          Leave it
        </a>
      </div>
    </Form>
  );
}
