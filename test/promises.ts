/** The promises of the program (PROMISES.md), each with the test file that proves it. */
export const promises: Record<string, Record<string, string>> = {
  'Nothing is lost': {
    'The program may crash before or after anything that it does, and again while it recovers. The same command continues: no scene is missing, no picture is wrong, and every paid result is collected.':
      'runner/pipeline/kill-at-every-call.test.ts',
    'This holds for real kills at random moments, as the records of the service show.': 'e2e/kill.test.ts',
    'It holds if the disk of its output folder disappears at random moments and comes back.':
      'e2e/mount-kills.test.ts',
    'It holds on a cluster: with requeue, wall time, preemption, and a lost node whose runner still works.':
      'e2e/submit-to-slurm.test.ts',
    'It holds while the service makes every possible mistake, and no result expires during a run.':
      'e2e/chaos.test.ts',
    'Whatever disks, clocks, people and the service do to a batch, no picture is wrong, every payment is reported, every refusal says how to continue, and in the end every scene is saved.':
      'simulation/nights.test.ts',
    'The same holds if any file of a batch is missing, empty, truncated, a day old, or has a flipped byte.':
      'simulation/damage-sweep.test.ts',
    'Every step is on disk before the next one: the intent before the request, the job id before its first poll, the picture before it counts as saved.':
      'e2e/fsync-order.test.ts',
    'A damaged input or job id in the checkpoint is detected when it is read. Nothing is sent or saved because of it, and the run ends with a message about it.':
      'runner/pipeline/damaged-rows.test.ts',
    '`verify --repair` repairs a damaged checkpoint: readable records are kept, and lost submissions count as unanswered.':
      'runner/checkpoint/repair-checkpoint.test.ts',
    'A write-ahead log that was removed, truncated, changed or replaced after a crash is detected before anything is sent. You may accept the loss, which is then reported.':
      'runner/checkpoint/lost-log.test.ts',
    'A problem that a setting can fix never fails a scene. The run stops before more is paid in vain and keeps the result. After the fix, the same command saves it, even if the service has deleted it.':
      'runner/pipeline/holds.test.ts',
    'A kept answer is complete, does not contain the key, is readable only by its user, and is deleted when its job is settled.':
      'runner/checkpoint/kept-answers.test.ts',
    'If an output arrives shortly after the status COMPLETED, the run waits for it and does not pay twice.':
      'runner/pipeline/holds.test.ts',
    'A resumed run polls the jobs in flight, oldest first, before it submits anything.':
      'runner/pipeline/run-batch.test.ts',
    'A job with an unreadable status is given up at its deadline, and only while the service answers.':
      'runner/pipeline/unreadable-jobs.test.ts',
    'During a run, every result is collected within a minute of its completion, long before it expires.':
      'runner/pipeline/retention.test.ts',
    'An edited row is rendered again, and its old picture is kept beside the new one.':
      'runner/pipeline/run-batch.test.ts',
    'A picture never overwrites a file: an existing file of that name is kept as `.former`.':
      'runner/images/image-store.test.ts',
    'A run reports every scene as saved only if every picture is still in the folder, with its size.':
      'runner/pipeline/missing-pictures.test.ts',
    'No picture is lost if a row is removed while its job is in flight.': 'runner/pipeline/run-batch.test.ts',
    'Two scenes never share a file, even if their names differ only in case.':
      'runner/pipeline/run-batch.test.ts',
    'A scene that crashes the program three times is set aside as `quarantined`, and no other scene is.':
      'runner/pipeline/deaths.test.ts',
    'A full disk never sets a scene aside.': 'runner/pipeline/deaths.test.ts',
    'The report can always be written again from the checkpoint.': 'e2e/road.test.ts',
    'Four runs share a batch and are killed and stopped at random. No scene is lost, every submission is recorded, and no scene that is set aside is submitted again.':
      'e2e/shared-kills.test.ts',
    'The same holds if they lose the database for longer than their leases, in one or both directions.':
      'e2e/shared-cuts.test.ts',
    'A checkpoint that is moved to a database, or back, arrives complete, and runs can never begin in both places.':
      'e2e/shared-move.test.ts',
    'While the database of a shared batch is down, nothing is submitted, and jobs in flight are collected.':
      'e2e/shared-checkpoint.test.ts',
    'Late writes of a run whose work others have taken over change nothing.':
      'runner/checkpoint/postgres-checkpoint.test.ts',
  },
  'No wrong picture': {
    'No damaged PNG ever gets a final name.': 'runner/images/corrupt-png.test.ts',
    'Nor does a damaged JPEG or WebP.': 'runner/images/corrupt-pictures.test.ts',
    'Nor does text that is not strict base64.': 'runner/images/corrupt-pictures.test.ts',
    'Black or too small pictures count as failures if `check` says so.': 'runner/images/demands.test.ts',
    'The run, `status` and `explain` show an unknown output or status, with the message of the worker if there is one.':
      'e2e/unknown-outputs.test.ts',
    'An output that cannot be saved, such as a GIF or an animation, is paid for only once.':
      'e2e/picture-demands.test.ts',
    'If the same damaged bytes come twice, the scene is set aside and not paid for a third time.':
      'runner/pipeline/service-trouble.test.ts',
    'If a service returns one job id twice, no scene gets the picture of another one.':
      'runner/pipeline/run-batch.test.ts',
    'If a service returns the same id for all jobs, the run ends after three of them with a message about it.':
      'runner/pipeline/service-trouble.test.ts',
    'If a status names another job, no scene gets a wrong picture, and the second such answer in a row ends the run.':
      'runner/pipeline/withheld-results.test.ts',
    '`verify` finds missing, truncated and changed pictures, and `--repair` has exactly those rendered again.':
      'e2e/verify.test.ts',
  },
  'Nothing is paid twice without need': {
    'A result that the service refuses for a while is collected later, and its job is paid for only once.':
      'runner/pipeline/withheld-results.test.ts',
    'A finished batch that is started again sends nothing.': 'runner/pipeline/run-batch.test.ts',
    'After a pause of twenty minutes, nothing is submitted again.': 'runner/pipeline/missing-jobs.test.ts',
    'After forty minutes, exactly the expired jobs are submitted again, once all jobs in flight were polled.':
      'runner/pipeline/missing-jobs.test.ts',
    'An endpoint that answers 404 to everything stops the run after one submission.':
      'runner/pipeline/missing-jobs.test.ts',
    'An endpoint that accepts jobs and loses all of them halts the run like failures.':
      'runner/pipeline/missing-jobs.test.ts',
    'If the clock jumps by a day, forward or back, nothing expires.': 'runner/pipeline/missing-jobs.test.ts',
    'A submission without an answer may run and be billed: it is recorded as `unanswered`, then submitted again.':
      'runner/pipeline/run-batch.test.ts',
    'The report names every scene with such submissions, even if a later one brought the picture.':
      'runner/pipeline/service-trouble.test.ts',
    'With `retry.unanswered: hold` it is not submitted again until you say so.':
      'runner/pipeline/service-trouble.test.ts',
    'If a connection breaks, the program never sends the submission again by itself.':
      'runner/client/broken-connections.test.ts',
    'If a service returns job ids that cannot be polled, the run ends after one paid job.':
      'runner/pipeline/service-trouble.test.ts',
    'No scene is submitted more often than `retry.submissions`, whatever happens.':
      'runner/pipeline/run-batch.test.ts',
    'An edit that renders most of a batch again is never silent: a terminal asks for confirmation, elsewhere the first line says so.':
      'e2e/accepted-edits.test.ts',
    'A stage never renders a picture again because a scene has got its id.': 'e2e/picture-ids.test.ts',
    'A row that is edited back costs nothing: its picture gets its name back.':
      'runner/pipeline/run-batch.test.ts',
    'If a list of ten thousand is edited during the batch, exactly the new and edited rows are submitted.':
      'runner/pipeline/run-batch.test.ts',
    'A job without output is tried only once more, because it usually fails again in the same way.':
      'runner/pipeline/run-batch.test.ts',
    'If the service refuses an input, its scene fails at once.': 'runner/pipeline/run-batch.test.ts',
    'If ComfyUI refuses a part of the workflow that no scene sets, the run stops at the first answer, no scene fails, and no part keeps running.':
      'e2e/comfyui.test.ts',
    'An overdue job is cancelled at the service, so that it is no longer billed.':
      'runner/pipeline/overdue.test.ts',
    'An output folder whose disk is not mounted is not taken for an empty one.': 'e2e/missing-disk.test.ts',
    '`cancel` saves finished jobs, because they are paid for.': 'e2e/cancel.test.ts',
    'A failed download is tried again, and the job is paid for only once.':
      'runner/pipeline/downloads.test.ts',
    '`retry` puts back exactly the scenes that you choose.': 'e2e/retry.test.ts',
    '`retry --again` renders a saved picture again, with another seed if requested, and keeps the old one.':
      'e2e/retry.test.ts',
    'If the checkpoint is lost, nothing is paid again silently: the run is refused, and `--adopt` takes over matching pictures after it has checked each.':
      'e2e/lost-checkpoint.test.ts',
    'A preview (`--sample`, `--limit`) is part of the full run: whatever the order of previews and crashes, each scene is paid for once.':
      'runner/pipeline/preview.test.ts',
  },
  'Limits and halts': {
    '`limits.cost` is exceeded by at most one job.': 'runner/pipeline/limits.test.ts',
    'A lost job counts as the cost of one usual job, and the run, `status`, the gallery and `plan` agree.':
      'runner/pipeline/limits.test.ts',
    'The limit holds across crashes and later runs.': 'runner/pipeline/limits.test.ts',
    '`limits.jobs` limits the submissions of all runs together.': 'runner/pipeline/limits.test.ts',
    'After the time of `limits.for` nothing is submitted, and jobs in flight are collected.':
      'runner/pipeline/run-batch.test.ts',
    'With `limits.until` only jobs are submitted that are expected to finish by then.':
      'runner/pipeline/limits.test.ts',
    'Consecutive failures halt the run, and jobs in flight are collected.':
      'runner/pipeline/run-batch.test.ts',
    'Too high a share of failures halts it as well.': 'runner/pipeline/service-trouble.test.ts',
    'If the service answers no submission for half an hour, the run ends and no scene is set aside.':
      'runner/pipeline/service-trouble.test.ts',
    'Status requests without an answer stop submissions within minutes, and the run after half an hour. The next run collects its jobs.':
      'runner/pipeline/service-trouble.test.ts',
    'A job that waits in the queue longer than `timeouts.queue` fails, and does not delay the batch.':
      'runner/pipeline/run-batch.test.ts',
    'If the key is refused from the start, the run ends after at most as many requests as it has slots, and no scene changes.':
      'runner/pipeline/run-batch.test.ts',
    'If key, account or endpoint are refused after they worked, the run checks again with one request at a time. It ends only after three refusals over `halt.refused` (30 seconds), and collects jobs in flight as far as the key allows.':
      'runner/pipeline/access.test.ts',
    'A busy service (429) costs only time: the run waits as long as the service asks, and no scene fails.':
      'runner/pipeline/run-batch.test.ts',
    'The run sends no more submissions in any ten seconds than `rate` allows.':
      'runner/pipeline/service-trouble.test.ts',
    'If 2, 5 or 20 % of the submissions are refused at random, the others keep at least 95 % of their rate.':
      'runner/pipeline/random-refusals.test.ts',
    'If the service has a limit that the run does not know, of submissions or jobs, the run uses at least 90 % of it.':
      'runner/pipeline/load.test.ts',
    'If more than half of the submissions of a minute are refused, the run says once which setting to change.':
      'runner/pipeline/service-trouble.test.ts',
  },
  'Disk, files and processes': {
    'If a program passes a wrong argument to the library, the error names it and nothing begins.':
      'e2e/library-arguments.test.ts',
    'A program that puts scenes back through the library pays again only if it confirms that.':
      'e2e/library-upkeep.test.ts',
    'The library does not touch the signals, exit code, environment and console of a program, and leaves nothing open after a batch.':
      'e2e/library.test.ts',
    'In a container nightrender does not run as root, ends normally when it is stopped, and resumes in the next one.':
      'e2e/image.test.ts',
    'A bucket that sometimes answers 503 ends no run. A bucket that never answers ends it with a message.':
      'lib/s3/troubled-store.test.ts',
    'A full disk ends the run normally (14), and no file is half-written. The next run saves the rest and pays for nothing twice.':
      'e2e/disk.test.ts',
    'A folder in the place of a picture ends it in the same way …': 'e2e/disk.test.ts',
    '… and so do too many open files.': 'e2e/disk.test.ts',
    'A full disk loses no id of an accepted job, because space is reserved for them.':
      'runner/checkpoint/checkpoint.test.ts',
    'A damaged checkpoint is refused with a message, and not changed.':
      'runner/checkpoint/checkpoint.test.ts',
    'The same holds for a checkpoint of a newer version.': 'runner/checkpoint/checkpoint.test.ts',
    'If fifty runs start at once, one runs and all others name it.': 'e2e/starts.test.ts',
    'If the lock file is deleted during a run, no second run can begin (on Linux).': 'e2e/starts.test.ts',
    'The lock is released as soon as its holder crashes.': 'e2e/starts.test.ts',
    'After SIGINT and SIGTERM the jobs in flight stay recorded, and the next run submits none of them again.':
      'e2e/exit-codes.test.ts',
    'They end the run after `shutdown.grace`, even if the service does not answer.': 'e2e/leave.test.ts',
    'A second signal ends the run at once, and it can still be resumed.': 'e2e/leave.test.ts',
    'After SIGHUP the run collects the jobs in flight and submits nothing more.': 'e2e/finish.test.ts',
    'If a command gets several files, all are checked before the first begins. After a signal, or an exit code other than 0 and 3, no further file begins.':
      'e2e/in-turn.test.ts',
    'A run continues if nobody reads its output any longer.': 'e2e/disk.test.ts',
  },
  'Your key and your prompts': {
    'The key is never in the files or output of a run.': 'e2e/canary.test.ts',
    'This also holds if the service repeats the key.': 'e2e/canary.test.ts',
    'The key follows a redirect only of a GET, and only to the same scheme, host and port. A redirected submission is never repeated.':
      'contracts/service-situations.test.ts',
    'The key is not sent to another address where jobs are in flight, until you say so.': 'e2e/retry.test.ts',
    'Plain http to another machine causes a warning.': 'runner/config/settings.test.ts',
    'Pictures are downloaded over https only from listed hosts, or from exactly the listed `http://` servers …':
      'runner/client/downloads.test.ts',
    '… and from this machine or its network only with such an entry; from this machine itself and link-local addresses only if it names the address.':
      'runner/client/downloads.test.ts',
    'An answer larger than `limits.body` is not read to its end.': 'runner/client/bodies.test.ts',
    'Answers with pictures never use more memory than `limits.memory`, and all arrive.':
      'runner/client/memory.test.ts',
    'An answer larger than `limits.memory` arrives alone.': 'runner/client/memory.test.ts',
    'A picture with more pixels than `limits.pixels` is rejected.': 'runner/images/check-picture.test.ts',
    'A template can read a file only with `file_base64`.': 'runner/config/template.test.ts',
    'A list can only send files from the folder of pipeline.yaml, or from a folder that the template names.':
      'runner/config/file-base64.test.ts',
    'A file that has changed since the list was read is not sent.': 'runner/client/sending-files.test.ts',
    'The address of a monitor or a chat is in no output, report or checkpoint.': 'e2e/notify.test.ts',
    'No file name leads out of the folder of pictures, whatever the manifest contains.':
      'runner/core/naming.test.ts',
    'Files with prompts or ids are readable only by you (0600).': 'e2e/private-files.test.ts',
  },
  'Before: the plan shows what the run does': {
    '`plan` accepts exactly what `run` accepts, refuses the rest in the same words, and leaves no trace in the folder.':
      'commands/plan-accepts.test.ts',
    'It shows the requests and file names of the run.': 'e2e/plan.test.ts',
    'It does not disturb an active run.': 'e2e/plan.test.ts',
    '`plan --check` starts no job.': 'e2e/plan.test.ts',
    '`init` overwrites no file.': 'e2e/init.test.ts',
    'If a list has lost more than a third of its scenes and has no new one, the run asks before anything changes.':
      'commands/fewer-scenes.test.ts',
    'A changed endpoint is reported, and the results say where each picture was made.':
      'commands/changed-endpoint.test.ts',
    'results.csv contains nothing that a spreadsheet would run as a formula.':
      'runner/report/results.test.ts',
    'An input that sends the same for every row is refused, with the likely mistake and its place.':
      'runner/list/row-inputs.test.ts',
    'If the checkpoint or its folder is removed during a run, the last lines say what is lost and what to do.':
      'commands/removed-files.test.ts',
    'A preview takes scenes from the whole list, and withdraws none.': 'runner/pipeline/preview.test.ts',
    'The order of lists and values changes no id and no seed of expanded scenes.':
      'runner/core/expansion.test.ts',
    'Additional values and seeds keep every existing scene …': 'runner/core/expansion.test.ts',
    '… so that only the new ones are rendered.': 'e2e/expansion.test.ts',
    'Seeds are below 2^31; a batch that began with larger seeds keeps them.':
      'runner/list/seed-range.test.ts',
    'A column that is declared as number, boolean or JSON is sent as such, also from a CSV.':
      'runner/list/read-scenes.test.ts',
  },
  'During: reading changes nothing': {
    '`status` shows a live, an ended and a killed run, without the key.': 'e2e/status.test.ts',
    'So does `list` …': 'e2e/list.test.ts',
    '… and `explain`.': 'e2e/explain.test.ts',
    'An exported dataset contains every saved picture unchanged, and names missing ones. Other software can read it.':
      'e2e/export.test.ts',
    'An export removes nothing through a linked folder, and two exports into one folder do not mix.':
      'e2e/export.test.ts',
    'Words of a prompt that a picture does not show are reported: by the run, by scene, in the results and in the gallery.':
      'e2e/lost-words.test.ts',
    'Values from a job’s output are columns of the results everywhere. A value that is added later needs no new job, and jobs without pictures have values too.':
      'e2e/values.test.ts',
    'The page of `watch` changes nothing but marks, and those only with a password.':
      'runner/watch/watch-server.test.ts',
    'It shows no key.': 'e2e/watch.test.ts',
    'No page of another site can read it.': 'runner/watch/watch-server.test.ts',
    'However many browsers show it, the checkpoint is read only once.': 'runner/watch/watch-server.test.ts',
    'It does not keep a run from starting.': 'e2e/watch.test.ts',
    'It is the gallery, before, during and after a run: pictures arrive in each of its views.':
      'web/gallery/live-page.test.ts',
    'It needs no report.': 'e2e/watch.test.ts',
    'For a list of any length it requests only changes, and shows every row as in the checkpoint.':
      'runner/checkpoint/live-reader.test.ts',
    'Nothing in a prompt, an id or a failure can control a terminal.': 'terminal/fit-text.test.ts',
    'A run in which everything goes wrong prints at most 2,000 plain lines.': 'terminal/plain-view.test.ts',
    'Every line of `--json` matches the published schema.': 'terminal/events-schema.test.ts',
    'A log that cannot be written does not end a run.': 'e2e/log.test.ts',
    'A monitor is notified of success only if every scene is saved.': 'runner/notify/notifier.test.ts',
    'A missing monitor does not change the outcome.': 'e2e/notify.test.ts',
    'A monitor that never answers is given up, and delays nothing.': 'runner/notify/notifier.test.ts',
  },
  'In the morning: gallery and lists': {
    'A run that is killed leaves a gallery.': 'e2e/interim-report.test.ts',
    'A report that cannot be written does not end a run.': 'runner/pipeline/interim-reports.test.ts',
    'The gallery opens without a server or a network, and shows prompts as they are, whatever they contain.':
      'web/gallery/gallery.test.ts',
    'Nothing in a prompt, a name or a failure becomes part of the page.':
      'runner/report/gallery-files.test.ts',
    'It can show, find and sort all pictures of a hundred thousand scenes.': 'web/gallery/gallery.test.ts',
    'A key marks the outlined picture: the one that was hovered or focused last.':
      'web/gallery/marks.test.ts',
    'Marks that are set at `watch` are the same in every browser, and a viewer can only star.':
      'web/gallery/batch-marks.test.ts',
    '`list`, `export`, `retry` and a stage take what is starred or marked, and nothing marked once is paid twice.':
      'e2e/marks.test.ts',
    'In a report that is opened as a file, marks stay in the browser, and become a list that `retry --ids` reads.':
      'web/gallery/marks.test.ts',
    'It compares two to four pictures, and shows the differences in their columns and values.':
      'web/gallery/compared.test.ts',
    'An exported gallery has no prompts, jobs, failures and paths, and its pictures keep every pixel.':
      'e2e/export.test.ts',
    'A list with a wrong id changes nothing, and its lines are named.': 'e2e/retry.test.ts',
    'The command that it shows for a kind of failure puts exactly these scenes back.':
      'runner/report/gallery-files.test.ts',
    'A thumbnail that cannot be written does not fail its scene.': 'runner/images/thumbnails.test.ts',
    'Nor does a copy that is too large for its format.': 'runner/images/copies.test.ts',
    'Pictures stay unchanged, byte for byte, if `output.metadata` is not set.':
      'runner/images/provenance.test.ts',
    'Embedded metadata leaves every other chunk, and so every pixel, unchanged.':
      'runner/images/provenance.test.ts',
    'Files beside a picture survive a crash at every call, like the picture.':
      'runner/pipeline/provenance.test.ts',
  },
  'The service: accepted jobs are completed': {
    'The service may be killed at any time, under load: no accepted job is lost, none is completed twice, and no output changes.':
      'service/kill-under-load.test.ts',
    'If a worker crashes during a job, another worker gets the job.': 'service/pull-worker.test.ts',
    'A result of a worker that no longer has the job changes nothing.': 'service/pull-operations.test.ts',
    'A result that is too large fails the job with a message; it is never lost silently.':
      'service/pull-operations.test.ts',
    'Whatever answers a remote worker instead of the service, the worker tries again and loses no finished result.':
      'service/agent/worker-answers.test.ts',
    'If several processes share a store, only the leader answers. Requests to a process that hangs or is cut off are answered all the same.':
      'e2e/shared-service-hangs.test.ts',
    'Slurm starts and ends workers by the queue. A lost answer or a killed service never starts more, and no worker is ended during a job.':
      'e2e/slurm-workers.test.ts',
    'No worker keeps running after the service has ended, however it ended.': 'e2e/serve-workers.test.ts',
    'Inputs, outputs and errors are erased from the disk after their retention.': 'service/retention.test.ts',
    'A backup of a running service is complete, and a service that starts from it pays for nothing twice.':
      'service/instance/service-backup.test.ts',
    'Jobs can be ended even if the disk is full.': 'service/jobs/full-disk.test.ts',
    'The service accepts no jobs if its data folder was deleted or replaced.':
      'service/jobs/lost-folder.test.ts',
    'Long results take no memory, however many slow readers they have.': 'service/http/long-answers.test.ts',
    'Requests from other machines are refused without one of your keys.':
      'service/instance/service-options.test.ts',
    'An address that guesses keys has to wait, and no other does.': 'service/keys/admission.test.ts',
    'Requests without a key are answered only under the names of the service.':
      'service/http/known-names.test.ts',
    'A key that is limited to its own jobs sees no other jobs.': 'service/keys/own-jobs.test.ts',
    'Slow requests arrive, and refused requests are never carried out.': 'service/http/slow-clients.test.ts',
    'Keys are stored as digests, in a file that only you can read.': 'service/keys/key-store.test.ts',
    'The console accepts no changes from pages of other sites.': 'service/console/sessions.test.ts',
  },
};

/** Files of promises that only `npm run test:rest` runs, each with the reason, mostly what it needs. */
export const inRestOnly: Record<string, string> = {
  'e2e/chaos.test.ts': 'half a minute of kills; kill.test.ts and the simulated nights cover it',
  'e2e/image.test.ts': 'containers',
  'e2e/library.test.ts': 'a program of another project that the compiler checks, and minutes of waiting',
  'e2e/shared-checkpoint.test.ts': 'PostgreSQL',
  'e2e/shared-cuts.test.ts': 'PostgreSQL',
  'e2e/shared-kills.test.ts': 'PostgreSQL',
  'e2e/shared-move.test.ts': 'PostgreSQL',
  'e2e/shared-service-hangs.test.ts': 'PostgreSQL',
  'e2e/slurm-workers.test.ts': 'Slurm',
  'e2e/submit-to-slurm.test.ts': 'Slurm',
  'runner/checkpoint/postgres-checkpoint.test.ts': 'PostgreSQL',
  'web/gallery/compared.test.ts': 'a browser',
  'web/gallery/gallery.test.ts': 'a browser',
  'web/gallery/live-page.test.ts': 'a browser',
  'web/gallery/batch-marks.test.ts': 'a browser',
  'web/gallery/marks.test.ts': 'a browser',
};
