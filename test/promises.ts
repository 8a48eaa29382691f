/** What the program promises (PROMISES.md), each sentence with the file below test/ that shows it. */
export const promises: Record<string, Record<string, string>> = {
  'Nothing is lost': {
    'The program may die before or after anything that it does, and die again while it recovers: the same command goes on, no scene is missing, no picture is wrong, and every result that was paid for is collected.':
      'runner/pipeline/kill-at-every-call.test.ts',
    'So it does when it is killed for real at random moments, as the books of the service tell.':
      'e2e/kill.test.ts',
    'So it does where the disk of its output folder goes at random moments, and comes back.':
      'e2e/mount-kills.test.ts',
    'So it does on a cluster, over requeue, wall time, preemption and a node that is lost while its runner lives on.':
      'e2e/submit-to-slurm.test.ts',
    'It also does while the service does everything wrong that a service can do; no result expires while a run is up.':
      'e2e/chaos.test.ts',
    'Whatever disks, clocks, people and the service do to a batch between and during its starts: no picture is wrong, nothing is paid undeclared, every refusal names a way that leads on, and in the end every scene is saved.':
      'simulation/nights.test.ts',
    'So it is where any file of a batch is missing, empty, cut, of the day before, or has a byte flipped.':
      'simulation/damage-sweep.test.ts',
    'Every move is on the disk before the next step: the intent before the request, the job id before it is first asked for, the picture before it counts as saved.':
      'e2e/fsync-order.test.ts',
    'An input or a job id that was damaged in the checkpoint is noticed where it is read: nothing is sent or saved on its word, and the run ends with words that say so.':
      'runner/pipeline/damaged-rows.test.ts',
    'A damaged checkpoint is repaired by `verify --repair`: what can be read is kept, what is lost is counted as unanswered.':
      'runner/checkpoint/repair-checkpoint.test.ts',
    'A write-ahead log that was removed, cut, changed or replaced after a crash is noticed before anything is sent; a person may accept the loss, which is then declared.':
      'runner/checkpoint/lost-log.test.ts',
    'A problem that a setting can fix is never a scene’s failure: the run stops before more is paid for in vain, the answer is kept, and after the fix the same command saves what was paid for, also from results that the service has deleted.':
      'runner/pipeline/holds.test.ts',
    'A kept answer is whole, without the key and for its user alone, and is deleted when its job is settled.':
      'runner/checkpoint/kept-answers.test.ts',
    'An output that comes a moment after the word COMPLETED is waited for, and its job is not paid for twice.':
      'runner/pipeline/holds.test.ts',
    'On resume what is in flight is asked for before anything is submitted, the oldest first.':
      'runner/pipeline/run-batch.test.ts',
    'A job whose status can never be read is given up by its deadline, and only while the service answers.':
      'runner/pipeline/unreadable-jobs.test.ts',
    'While a run is up, every result is collected within a minute of its completion, long before it may expire.':
      'runner/pipeline/retention.test.ts',
    'A row that is edited is rendered anew, and its old picture is kept beside the new one.':
      'runner/pipeline/run-batch.test.ts',
    'No file is overwritten by a picture: what has its name already is kept as `.former`.':
      'runner/images/image-store.test.ts',
    'A run says that every scene is saved only where every picture still is in the folder, in its size.':
      'runner/pipeline/missing-pictures.test.ts',
    'A row that goes while its job is in flight loses no picture.': 'runner/pipeline/run-batch.test.ts',
    'Two scenes never share a file, also where names differ in case alone.':
      'runner/pipeline/run-batch.test.ts',
    'A scene that the program died with three times is set aside as `quarantined`, and no other with it.':
      'runner/pipeline/deaths.test.ts',
    'A full disk sets no scene aside, however often.': 'runner/pipeline/deaths.test.ts',
    'The report can always be written anew from the checkpoint alone.': 'e2e/road.test.ts',
    'Four runs that share a batch, killed and stopped at random, lose no scene, have every submission on record, and submit none twice that is held.':
      'e2e/shared-kills.test.ts',
    'So they do where they are cut off from the database for longer than their leases, both ways or one way.':
      'e2e/shared-cuts.test.ts',
    'A checkpoint that is moved to a database, or back, is whole there, and at no moment can runs begin in both places.':
      'e2e/shared-move.test.ts',
    'While the database of a shared batch is gone nothing is submitted, and what is in flight is collected.':
      'e2e/shared-checkpoint.test.ts',
    'What a run writes that others took for dead changes nothing.':
      'runner/checkpoint/postgres-checkpoint.test.ts',
  },
  'No wrong picture': {
    'No damaged PNG ever gets a final name.': 'runner/images/corrupt-png.test.ts',
    'Nor does a damaged JPEG or WebP.': 'runner/images/corrupt-pictures.test.ts',
    'Nor does text that is no strict base64.': 'runner/images/corrupt-pictures.test.ts',
    'Black pictures and thumbnails are no success where `check` says so.': 'runner/images/demands.test.ts',
    'An output or a status that the program does not know is named in the run, in `status` and in `explain`, with the words of the worker where it has any.':
      'e2e/unknown-outputs.test.ts',
    'What cannot be saved, such as a GIF or an animation, is paid for once.': 'e2e/picture-demands.test.ts',
    'The same damaged bytes twice set the scene aside, instead of paying a third time.':
      'runner/pipeline/service-trouble.test.ts',
    'A service that gives one job id twice brings no picture of another scene.':
      'runner/pipeline/run-batch.test.ts',
    'A service that gives all jobs the same id is paid for three of them, and the run ends with words that name it.':
      'runner/pipeline/service-trouble.test.ts',
    'A status that names another job brings no picture of another scene, and the second in a row ends the run.':
      'runner/pipeline/withheld-results.test.ts',
    '`verify` finds what is missing, cut or changed since; `--repair` has exactly that rendered again.':
      'e2e/verify.test.ts',
  },
  'Nothing is paid twice without need': {
    'A result that the service refuses for a while is collected later, and its job is paid for once.':
      'runner/pipeline/withheld-results.test.ts',
    'A finished batch that is started again sends nothing.': 'runner/pipeline/run-batch.test.ts',
    'After twenty minutes of being down nothing is submitted again.': 'runner/pipeline/missing-jobs.test.ts',
    'After forty minutes exactly what has expired is, once all that was in flight was asked for.':
      'runner/pipeline/missing-jobs.test.ts',
    'An endpoint that answers 404 for everything stops the run, with one submission.':
      'runner/pipeline/missing-jobs.test.ts',
    'One that takes jobs and loses every one of them halts the run as failures do.':
      'runner/pipeline/missing-jobs.test.ts',
    'A clock that jumps by a day, either way, expires nothing.': 'runner/pipeline/missing-jobs.test.ts',
    'A submission that got no answer may run and bill: it is declared as `unanswered`, then submitted again.':
      'runner/pipeline/run-batch.test.ts',
    'The report names every scene that has such submissions, also where a later one brought the picture.':
      'runner/pipeline/service-trouble.test.ts',
    'With `retry.unanswered: hold` it is not, until you say so.': 'runner/pipeline/service-trouble.test.ts',
    'The program never sends a submission twice by itself where a connection dies under it.':
      'runner/client/broken-connections.test.ts',
    'A service that names its jobs in a way that nobody can ask for is paid for one, and the run ends.':
      'runner/pipeline/service-trouble.test.ts',
    'No scene is submitted more often than `retry.submissions`, whatever becomes of it.':
      'runner/pipeline/run-batch.test.ts',
    'An edit that renders most of a batch again is never silent: on a terminal it is asked about, elsewhere the first line says so.':
      'e2e/accepted-edits.test.ts',
    'A picture is never rendered again by a stage because a scene has got its id.': 'e2e/picture-ids.test.ts',
    'A row that is edited back costs nothing: its picture takes its name again.':
      'runner/pipeline/run-batch.test.ts',
    'Of a list of ten thousand that was edited half-way, exactly the new and the edited rows are submitted.':
      'runner/pipeline/run-batch.test.ts',
    'A job without output, which mostly fails the same way again, is tried once more only.':
      'runner/pipeline/run-batch.test.ts',
    'An input that the service refuses fails its scene at once.': 'runner/pipeline/run-batch.test.ts',
    'What ComfyUI refuses of a workflow and no scene sets stops the run at the first answer, fails no scene, and leaves no part running.':
      'e2e/comfyui.test.ts',
    'An overdue job is cancelled at the service, so that it does not go on billing.':
      'runner/pipeline/overdue.test.ts',
    'An output folder whose disk is not mounted is not taken for an empty one.': 'e2e/missing-disk.test.ts',
    '`cancel` saves what is done already: it is paid.': 'e2e/cancel.test.ts',
    'A download that fails is tried again; the job is paid once.': 'runner/pipeline/downloads.test.ts',
    '`retry` puts back exactly the scenes that you choose.': 'e2e/retry.test.ts',
    '`retry --again` has a saved picture rendered again, with another seed if asked, and keeps the old one.':
      'e2e/retry.test.ts',
    'Where the checkpoint is gone, nothing is paid again without a word: the run is refused, and pictures that fit are taken over (`--adopt`), each checked.':
      'e2e/lost-checkpoint.test.ts',
    'A preview (`--sample`, `--limit`) is part of the full run: whatever previews and deaths come one after the other, each scene is paid once.':
      'runner/pipeline/preview.test.ts',
  },
  'It stops by itself': {
    '`limits.cost` is exceeded by one job at most.': 'runner/pipeline/limits.test.ts',
    'A lost job counts in costs as one usual job, and the run, `status`, the gallery and `plan` count alike.':
      'runner/pipeline/limits.test.ts',
    'The limit holds over crashes and later runs.': 'runner/pipeline/limits.test.ts',
    '`limits.jobs` bounds the submissions of all runs together.': 'runner/pipeline/limits.test.ts',
    '`limits.for` submits nothing once the time is over, and what is in flight is collected.':
      'runner/pipeline/run-batch.test.ts',
    '`limits.until` submits nothing that is not expected to be done by then.':
      'runner/pipeline/limits.test.ts',
    'Failures one after the other halt the run, and what is in flight is collected.':
      'runner/pipeline/run-batch.test.ts',
    'So does too large a share of failures.': 'runner/pipeline/service-trouble.test.ts',
    'A service that answers no submission for half an hour ends the run, with no scene set aside.':
      'runner/pipeline/service-trouble.test.ts',
    'Status requests that are not answered stop submissions within minutes, and the run after half an hour, with its jobs left to the next one.':
      'runner/pipeline/service-trouble.test.ts',
    'A job that stays in the queue longer than `timeouts.queue` has failed, and does not hold up the night.':
      'runner/pipeline/run-batch.test.ts',
    'A key that is refused from the start ends it after as many requests as there are lanes at most, with every scene as it was.':
      'runner/pipeline/run-batch.test.ts',
    'Key, account or endpoint that are refused after they have worked in the run are asked about again, by one request at a time; only what is refused three times over `halt.refused` (30 seconds) ends it, and what is in flight is collected as far as the key allows.':
      'runner/pipeline/access.test.ts',
    'A busy service (429) costs time only, is given as long as it asks for, and fails no scene.':
      'runner/pipeline/run-batch.test.ts',
    'The service is sent no more submissions than `rate` allows in any ten seconds.':
      'runner/pipeline/service-trouble.test.ts',
    'Submissions that are refused by chance (2, 5 or 20 % of them) leave the others at least 95 in 100 of their rate.':
      'runner/pipeline/random-refusals.test.ts',
    'A run at a limit that nobody told it of uses at least 90 in 100 of it, whether it limits submissions or jobs.':
      'runner/pipeline/load.test.ts',
    'If more than half of the submissions of a minute are refused, the run says once what to set.':
      'runner/pipeline/service-trouble.test.ts',
  },
  'Disk, files and processes': {
    'A program that passes the library a wrong argument is told which one, and nothing begins.':
      'e2e/library-arguments.test.ts',
    'A program that puts scenes back by the library pays again for what was paid, or may have been, only if it says so.':
      'e2e/library-upkeep.test.ts',
    'A program that imports it keeps its signals, exit code, environment and console to itself, and nothing of a batch that has ended stays open there.':
      'e2e/library.test.ts',
    'In a container it is not root, ends in order when it is stopped, and resumes in the next.':
      'e2e/image.test.ts',
    'A bucket that answers 503 now and then ends no start, and one that never answers is given up with words.':
      'lib/s3/troubled-store.test.ts',
    'A full disk ends the run in order (14), nothing half has a name, and the next run saves what is left, paying nothing twice.':
      'e2e/disk.test.ts',
    'So do a folder in the place of a picture …': 'e2e/disk.test.ts',
    '… and too many open files.': 'e2e/disk.test.ts',
    'Ids of accepted jobs are not lost to a full disk: room is kept for them.':
      'runner/checkpoint/checkpoint.test.ts',
    'A damaged checkpoint is refused in a sentence and left as it is.':
      'runner/checkpoint/checkpoint.test.ts',
    'So is one of a newer version.': 'runner/checkpoint/checkpoint.test.ts',
    'Of fifty starts at once one runs, and all others name it.': 'e2e/starts.test.ts',
    'A lock file that is deleted beside a live run lets no second one in (on Linux).': 'e2e/starts.test.ts',
    'The lock is free as soon as its holder is dead.': 'e2e/starts.test.ts',
    'SIGINT and SIGTERM leave the jobs in flight on record, and the next run submits none of them again.':
      'e2e/exit-codes.test.ts',
    'They end the run once `shutdown.grace` is over, though the service answers nothing.':
      'e2e/leave.test.ts',
    'A second one ends it at once, still resumable.': 'e2e/leave.test.ts',
    'SIGHUP finishes what is in flight and submits nothing more.': 'e2e/finish.test.ts',
    'Of several files in one command all are checked before the first begins; after a signal, or any end but 0 and 3, no other one does.':
      'e2e/in-turn.test.ts',
    'A run goes on when nobody reads its output any more.': 'e2e/disk.test.ts',
  },
  'Your key and your prompts': {
    'The key is in nothing that a run leaves or says.': 'e2e/canary.test.ts',
    'Nor does it get there through a service that repeats it.': 'e2e/canary.test.ts',
    'A redirect is followed with it only by a GET and only to the same scheme, host and port; a redirected submission is never repeated.':
      'contracts/service-situations.test.ts',
    'It does not go to an address where another run has left jobs, until you say so.': 'e2e/retry.test.ts',
    'Plain http to another machine warns.': 'runner/config/settings.test.ts',
    'Pictures are downloaded over https from listed hosts only, or from exactly the `http://` servers that are listed …':
      'runner/client/downloads.test.ts',
    '… and from this machine or its network only where such an entry is there; from this machine itself and link-local addresses, only where it names the address.':
      'runner/client/downloads.test.ts',
    'An answer larger than `limits.body` is not read to its end.': 'runner/client/bodies.test.ts',
    'Of answers with pictures no more are in memory at a time than fit into `limits.memory`, and all come.':
      'runner/client/memory.test.ts',
    'One that is larger than `limits.memory` comes through alone.': 'runner/client/memory.test.ts',
    'A picture of more pixels than `limits.pixels` is not taken.': 'runner/images/check-picture.test.ts',
    'A template reads no file but by `file_base64`.': 'runner/config/template.test.ts',
    'A list has no file sent from outside of the folder of pipeline.yaml, or of one that the template names.':
      'runner/config/file-base64.test.ts',
    'A file that is another than when the list was read is not sent.': 'runner/client/sending-files.test.ts',
    'The address of a monitor or a chat stands in no output, report or checkpoint.': 'e2e/notify.test.ts',
    'No name leads out of the folder of pictures, whatever the manifest says.': 'runner/core/naming.test.ts',
    'What holds prompts or ids is for your eyes alone (0600).': 'e2e/private-files.test.ts',
  },
  'Before: the plan is what happens': {
    '`plan` accepts exactly what `run` accepts, refuses the rest in the same words, and leaves no trace in the folder.':
      'commands/plan-accepts.test.ts',
    'The requests and file names that it tells are those of the run.': 'e2e/plan.test.ts',
    'It disturbs no run that is at work.': 'e2e/plan.test.ts',
    '`plan --check` starts no job.': 'e2e/plan.test.ts',
    '`init` overwrites no file.': 'e2e/init.test.ts',
    'A list that has lost more than a third of its scenes and has no new one is asked about before anything changes.':
      'commands/fewer-scenes.test.ts',
    'An endpoint that is another one than before is told, and the results tell where each picture was made.':
      'commands/changed-endpoint.test.ts',
    'results.csv holds nothing that a spreadsheet would run as a formula.': 'runner/report/results.test.ts',
    'An input that sends every row the same is refused, with the likely slip and its place.':
      'runner/list/row-inputs.test.ts',
    'Where the checkpoint or its folder is removed during a run, its last words say what is lost and what to do.':
      'commands/removed-files.test.ts',
    'A preview takes scenes from all over the list, and withdraws none.': 'runner/pipeline/preview.test.ts',
    'The order of lists and values changes no id and no seed of expanded scenes.':
      'runner/core/expansion.test.ts',
    'More values and more seeds keep every scene that was there …': 'runner/core/expansion.test.ts',
    '… so that only the new ones are rendered.': 'e2e/expansion.test.ts',
    'Seeds are below 2^31; a batch that was begun with larger ones keeps them.':
      'runner/list/seed-range.test.ts',
    'A column that is declared a number, a boolean or JSON is sent as one, also from a CSV.':
      'runner/list/read-scenes.test.ts',
  },
  'During: looking changes nothing': {
    '`status` tells a live, an ended and a killed run, without the key.': 'e2e/status.test.ts',
    'So does `list` …': 'e2e/list.test.ts',
    '… and `explain`.': 'e2e/explain.test.ts',
    'An exported dataset holds every saved picture byte for byte, and names what is lacking; software that is not ours reads it.':
      'e2e/export.test.ts',
    'An export removes nothing through a linked folder, and two exports into one folder are kept apart.':
      'e2e/export.test.ts',
    'Words that a picture does not show as they are said are told: by the run, by scene, in the results and in the gallery.':
      'e2e/lost-words.test.ts',
    'Values out of a job’s output are columns of its results wherever these are shown; one that is asked for later needs no job, and jobs without pictures have them too.':
      'e2e/values.test.ts',
    'The page of `watch` changes nothing but marks, and those only for people who know a password.':
      'runner/watch/watch-server.test.ts',
    'It shows no key.': 'e2e/watch.test.ts',
    'No page of another site can read it.': 'runner/watch/watch-server.test.ts',
    'However many look at it, the checkpoint is read once for all.': 'runner/watch/watch-server.test.ts',
    'It keeps no run from starting.': 'e2e/watch.test.ts',
    'It is the gallery, before, during and after a run: pictures arrive in each of its views.':
      'web/gallery/live-page.test.ts',
    'It needs no report.': 'e2e/watch.test.ts',
    'Of a list however long it asks only for what has changed, and has every row as the checkpoint has it.':
      'runner/checkpoint/live-reader.test.ts',
    'Nothing that a prompt, an id or a failure says steers a terminal.': 'terminal/fit-text.test.ts',
    'A night in which everything goes wrong fits into 2,000 plain lines.': 'terminal/plain-view.test.ts',
    'Every line of `--json` is as the published schema says.': 'terminal/events-schema.test.ts',
    'A log that cannot be written ends no run.': 'e2e/log.test.ts',
    'A monitor hears of success only where every scene is saved.': 'runner/notify/notifier.test.ts',
    'One that is not there changes no outcome.': 'e2e/notify.test.ts',
    'One that never answers is given up, and keeps nobody waiting.': 'runner/notify/notifier.test.ts',
  },
  'In the morning: gallery and lists': {
    'A run that is killed leaves a gallery.': 'e2e/interim-report.test.ts',
    'A report that the disk does not take ends no run.': 'runner/pipeline/interim-reports.test.ts',
    'The gallery opens without a server and a network, and shows prompts as they are, whatever stands in them.':
      'web/gallery/gallery.test.ts',
    'Nothing in a prompt, a name or a failure becomes part of the page.':
      'runner/report/gallery-files.test.ts',
    'All pictures of a hundred thousand scenes are reached, found and sorted in it.':
      'web/gallery/gallery.test.ts',
    'A key marks the picture that is outlined: the one that was pointed at or got the focus last.':
      'web/gallery/marks.test.ts',
    'Marks that are set at `watch` are the same in every browser, and a viewer can only star.':
      'web/gallery/batch-marks.test.ts',
    '`list`, `export`, `retry` and a stage take what is starred or marked, and nothing marked once is paid twice.':
      'e2e/marks.test.ts',
    'In a report that is opened as a file, marks stay in the browser, and become a list that `retry --ids` reads.':
      'web/gallery/marks.test.ts',
    'Two to four pictures are compared there, with what differs in their columns and values.':
      'web/gallery/compared.test.ts',
    'A list with a wrong id changes nothing; its lines are named.': 'e2e/retry.test.ts',
    'The command that it shows for a kind of failure puts exactly these back.':
      'runner/report/gallery-files.test.ts',
    'A thumbnail that cannot be written fails no scene.': 'runner/images/thumbnails.test.ts',
    'Nor does a copy that its format cannot hold.': 'runner/images/copies.test.ts',
    'Pictures stay byte for byte as they came where `output.metadata` asks for nothing.':
      'runner/images/provenance.test.ts',
    'Embedded metadata leaves every other chunk, and so every pixel, untouched.':
      'runner/images/provenance.test.ts',
    'What belongs beside a picture survives a death at every call as the picture does.':
      'runner/pipeline/provenance.test.ts',
  },
  'The service: accepted jobs are done': {
    'The service may be killed at any time, under load: no accepted job is lost, none is completed twice, and no output changes.':
      'service/kill-under-load.test.ts',
    'A worker that dies in the middle of a job leaves it to another.': 'service/pull-worker.test.ts',
    'A result of a worker that has lost the job changes nothing.': 'service/pull-operations.test.ts',
    'A result that is too large fails the job in words; it is never lost.': 'service/pull-operations.test.ts',
    'Whatever answers a worker elsewhere in the place of the service, it tries again and loses no finished result.':
      'service/agent/worker-answers.test.ts',
    'Of several processes that share a store only the one that leads answers, and what waits for one that hangs or is cut off is answered all the same.':
      'e2e/shared-service-hangs.test.ts',
    'Workers that Slurm runs come and go by the queue: never more for a lost answer or a killed service, and none at a job is ended.':
      'e2e/slurm-workers.test.ts',
    'No worker is left running when the service has ended, however it ended.': 'e2e/serve-workers.test.ts',
    'Inputs, outputs and errors are gone from the disk once they have been kept long enough.':
      'service/retention.test.ts',
    'A backup of a running service is whole, and a service that starts on it pays for nothing twice.':
      'service/instance/service-backup.test.ts',
    'A full disk keeps nobody from ending jobs.': 'service/jobs/full-disk.test.ts',
    'No job is taken on into a data folder that was deleted or replaced.': 'service/jobs/lost-folder.test.ts',
    'Long results cost no memory, however many slow readers they have.': 'service/http/long-answers.test.ts',
    'Nobody without a key of yours is let in from other machines.':
      'service/instance/service-options.test.ts',
    'Who tries keys is told to wait, and nobody else.': 'service/keys/admission.test.ts',
    'What needs no key is answered under the names of the service only.': 'service/http/known-names.test.ts',
    'A key that is limited to its own jobs knows no others.': 'service/keys/own-jobs.test.ts',
    'What arrives slowly arrives, and what was refused is never done.': 'service/http/slow-clients.test.ts',
    'Keys are kept as digests, in a file that only you can read.': 'service/keys/key-store.test.ts',
    'The console takes no change from pages of other sites.': 'service/console/sessions.test.ts',
  },
};

/** Files of promises that `npm test` does not run, each with what it needs; `npm run test:rest` runs them. */
export const inRestOnly: Record<string, string> = {
  'e2e/chaos.test.ts': 'half a minute of kills; kill.test.ts and the simulated nights stand for it',
  'e2e/image.test.ts': 'containers',
  'e2e/library.test.ts':
    'a program of another project, which the compiler checks, and minutes of waiting for one another',
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
