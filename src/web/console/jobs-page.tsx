/** The jobs of all endpoints. */
import type { JSX } from 'preact';
import { JobList } from './job-list.tsx';

export function JobsPage(): JSX.Element {
  return (
    <>
      <div class="page-head">
        <h1>Jobs</h1>
      </div>
      <section class="panel" aria-label="Jobs of all endpoints">
        <JobList endpoint={null} />
      </section>
    </>
  );
}
