/** The terms of a job: folded away, as few jobs need other ones than their endpoint's. */
import type { JSX } from 'preact';
import { TextField } from './field.tsx';
import type { TypedTerms } from './job-terms.ts';
import { useEndpoint } from './service.ts';

interface Props {
  endpointId: string;
  terms: TypedTerms;
  problemOf(field: string): string;
  onTerms(change: Partial<TypedTerms>): void;
}

const termFields = ['executionTimeout', 'ttl', 'webhook'] as const;

export function JobTermsFields({ endpointId, terms, problemOf, onTerms }: Props): JSX.Element {
  const settings = useEndpoint(endpointId)?.settings;
  const isWrong = termFields.some((field) => problemOf(field) !== '');
  return (
    <details class="terms" open={isWrong || undefined}>
      <summary>Time-outs, priority, webhook</summary>
      <div class="stack">
        <div class="row">
          <TextField
            class="short"
            label="Execution time-out"
            hint={`The longest it may run; ${settings?.executionTimeout ?? ''} where left empty.`}
            problem={problemOf('executionTimeout')}
            value={terms.executionTimeout}
            onText={(executionTimeout) => onTerms({ executionTimeout })}
          />
          <TextField
            class="short"
            label="Time to live"
            hint={`From submission to end; ${settings?.ttl ?? ''} where left empty.`}
            problem={problemOf('ttl')}
            value={terms.ttl}
            onText={(ttl) => onTerms({ ttl })}
          />
        </div>
        <TextField
          label="Webhook"
          hint="Receives the job when it ends."
          problem={problemOf('webhook')}
          value={terms.webhook}
          onText={(webhook) => onTerms({ webhook })}
        />
        <label class="option">
          <input
            type="checkbox"
            checked={terms.isLowPriority}
            onChange={(event) => onTerms({ isLowPriority: event.currentTarget.checked })}
          />{' '}
          Low priority: after all other jobs
        </label>
      </div>
    </details>
  );
}
