-- A state directory of version 0.1: its engine was killed while a run had task 1 under review.
BEGIN TRANSACTION;
CREATE TABLE acts (
  seq integer primary key,
  team text not null,
  id text not null,
  data text not null,
  ended_at real,
  unique (team, id)
) strict;
INSERT INTO "acts" VALUES(1,'crew#1','ada#1:1:start','{"kind":"start","about":"ada#1","epoch":1,"data":{}}',1.79490214599529361721e+09);
INSERT INTO "acts" VALUES(2,'crew#1','ada#1:3:inspect','{"kind":"inspect","about":"ada#1","epoch":3,"data":{"attempt":1}}',1.79490214609281897549e+09);
INSERT INTO "acts" VALUES(3,'crew#1','spec#1:1:start','{"kind":"start","about":"spec#1","epoch":1,"data":{}}',1.79490214613009047505e+09);
INSERT INTO "acts" VALUES(4,'crew#1','ada#1:5:salvage','{"kind":"salvage","about":"ada#1","epoch":5,"data":{}}',NULL);
CREATE TABLE facts (
  team text not null,
  about text not null,
  name text not null,
  value text not null,
  primary key (team, about, name)
) strict, without rowid;
INSERT INTO "facts" VALUES('crew#1','','environment','{"PATH":"/usr/bin:/bin"}');
INSERT INTO "facts" VALUES('crew#1','','phase','{"team":"crew","started_at":"2026-11-17T07:55:45+00:00","tasks":{"1":{"id":"1","depends_on":[],"wants":null,"state":"reviewing","attempt":1,"slot":1,"seats":[{"role":"worker","name":"ada","key":"ada#1","presence":"here","verdict":null,"words":"","said_by":"","follows":"","asked":0,"request":"","refusals":0},{"role":"spec-reviewer","name":"spec","key":"spec#1","presence":"here","verdict":null,"words":"","said_by":"","follows":"","asked":0,"request":"","refusals":0}],"commit":"4e4ceae6d8ac2f2eca934dd156aa65d4a118fd1c","sent_back":"","rounds":0,"restarts":0,"cycles":0,"base":"","words":"","passed_over":"","reassigned":false,"aborted":"","aim":null,"reason":"","unreviewed":false},"2":{"id":"2","depends_on":["1"],"wants":null,"state":"waiting","attempt":1,"slot":0,"seats":[],"commit":"","sent_back":"","rounds":0,"restarts":0,"cycles":0,"base":"","words":"","passed_over":"","reassigned":false,"aborted":"","aim":null,"reason":"","unreviewed":false}},"gates":{"verify":"","max_file_lines":400,"max_function_lines":50,"max_total_lines":0},"state":"tasks","attempt":1,"ended_at":"","results":{},"cleanups":[],"clean":false,"aborted":"","reason":"","gate":null,"notes":[]}');
INSERT INTO "facts" VALUES('crew#1','','roster','{"workers":["ada"],"reviewers":[["spec-reviewer","spec"]],"plans":{"ada":{"name":"ada","agent":null,"command":["/bin/sh","-c","echo y > b.txt; git add b.txt; git commit -qm b; headcount done; sleep 600"],"model":null,"prompt":"p","role":"worker","task":null,"awaits_review":false,"base":null,"detached":false,"workspace":null,"finalizers":[],"directory":"/nowhere/repo","runtime":null,"integration":"headcount/crew/integration","require_merged":false},"spec":{"name":"spec","agent":null,"command":["sleep","600"],"model":"haiku","prompt":"p","role":"spec-reviewer","task":null,"awaits_review":false,"base":null,"detached":false,"workspace":null,"finalizers":[],"directory":"/nowhere/repo","runtime":null,"integration":"headcount/crew/integration","require_merged":false}},"tasks":{"1":{"subject":"First","prompt":"do one","model":null,"metadata":{}},"2":{"subject":"Second","prompt":"do two","model":null,"metadata":{}}},"integration":"headcount/crew/integration","base":"d98155a1609ec49d23231f28375d91a1619588ab","require_merged":true}');
INSERT INTO "facts" VALUES('crew#1','ada#1','exit','{"code":null}');
INSERT INTO "facts" VALUES('crew#1','ada#1','findings','{"workspace":"/nowhere/repo/.headcount/worktrees/crew/ada","when":"2026-11-17T07:55:46+00:00","head":"4e4ceae6d8ac2f2eca934dd156aa65d4a118fd1c","branch":"headcount/crew/ada","commits_ahead":1,"items":[],"clean":true,"spotless":true}');
INSERT INTO "facts" VALUES('crew#1','ada#1','signalled','{"at":"2026-11-17T07:55:46+00:00"}');
INSERT INTO "facts" VALUES('crew#1','ada#1','start','{"mark":"hc1.e9c6766442165dac.crew.ada.1.3014fd42","agent":"command","prompt_file":"/nowhere/repo/.headcount/teams/crew/prompts/ada-1.md","argv":["/bin/sh","-c","echo y > b.txt; git add b.txt; git commit -qm b; headcount done; sleep 600"],"env":{},"stdin":false,"exit_text":null,"runtime":"plain","ready":"","dialog":"","hold":"","prompt":"p\n\n# Task 1: First\n\ndo one\n\nWhen it is done: commit everything on your branch, leave no stash and no untracked file, then run\n`headcount done`. If you are sent back, fix what is named and run `headcount done` again. When you are asked\nto stand down, run `headcount approve`, or `headcount reject --reason WHY`. Your mail: `headcount inbox`.\n","model":"","base":"headcount/crew/integration","detached":false,"workspace":null,"finalizers":[],"integration":"headcount/crew/integration","require_merged":false,"sync":""}');
INSERT INTO "facts" VALUES('crew#1','ada#1','workspace','{"team":"crew","member":"ada","generation":1,"path":"/nowhere/repo/.headcount/worktrees/crew/ada","git_dir":"/nowhere/repo/.git/worktrees/ada.70627a8ddae2","branch":"headcount/crew/ada","base":"d98155a1609ec49d23231f28375d91a1619588ab"}');
INSERT INTO "facts" VALUES('crew#1','spec#1','reviewing','{"commit":"4e4ceae6d8ac2f2eca934dd156aa65d4a118fd1c"}');
INSERT INTO "facts" VALUES('crew#1','spec#1','start','{"mark":"hc1.e9c6766442165dac.crew.spec.1.2cc4a38a","agent":"command","prompt_file":"/nowhere/repo/.headcount/teams/crew/prompts/spec-1.md","argv":["sleep","600"],"env":{},"stdin":false,"exit_text":null,"runtime":"plain","ready":"","dialog":"","hold":"","prompt":"p\n\n# Review task 1: First\n\ndo one\n\nCommit: 4e4ceae6d8ac2f2eca934dd156aa65d4a118fd1c\n\nYour workspace stands at the commit under review; change nothing. Say what you found with\n`headcount review pass 1` or `headcount review changes 1 --reason \"what must change\"`. When you are\nasked to stand down, run `headcount approve`. Your mail: `headcount inbox`.\n","model":"haiku","base":"4e4ceae6d8ac2f2eca934dd156aa65d4a118fd1c","detached":true,"workspace":null,"finalizers":[],"integration":"headcount/crew/integration","require_merged":false,"sync":""}');
INSERT INTO "facts" VALUES('crew#1','spec#1','workspace','{"team":"crew","member":"spec","generation":1,"path":"/nowhere/repo/.headcount/worktrees/crew/spec","git_dir":"/nowhere/repo/.git/worktrees/spec.1eb3def8c87d","branch":null,"base":"4e4ceae6d8ac2f2eca934dd156aa65d4a118fd1c"}');
CREATE TABLE inputs (
  seq integer primary key,
  team text not null,
  kind text not null,
  data text not null
) strict;
CREATE TABLE journal (
  seq integer primary key,
  team text not null,
  at real not null,
  kind text not null,
  about text not null,
  data text not null
) strict;
INSERT INTO "journal" VALUES(1,'crew#1',1.79490214592669463161e+09,'team_created','','{"description":"d"}');
INSERT INTO "journal" VALUES(2,'crew#1',1.79490214592954921719e+09,'task_created','1','{"subject":"First"}');
INSERT INTO "journal" VALUES(3,'crew#1',1.79490214592954921719e+09,'task_created','2','{"subject":"Second"}');
INSERT INTO "journal" VALUES(4,'crew#1',1.79490214592954921719e+09,'task_moved','1','{"attempt":1,"from":"waiting","to":"working","cue":"begin"}');
INSERT INTO "journal" VALUES(5,'crew#1',1.79490214592954921719e+09,'starting','ada#1','{"role":"worker","by":"lead"}');
INSERT INTO "journal" VALUES(6,'crew#1',1.79490214592954921719e+09,'task_member','1','{"attempt":1,"key":"ada#1","role":"worker"}');
INSERT INTO "journal" VALUES(7,'crew#1',1.79490214599529361721e+09,'moved','ada#1','{"from":"starting","to":"running","cue":"registered"}');
INSERT INTO "journal" VALUES(8,'crew#1',1.79490214606834483151e+09,'task_handed_in','1','{"by":"ada#1"}');
INSERT INTO "journal" VALUES(9,'crew#1',1.79490214607369661338e+09,'moved','ada#1','{"from":"running","to":"inspecting","cue":"done"}');
INSERT INTO "journal" VALUES(10,'crew#1',1.79490214609281897549e+09,'moved','ada#1','{"from":"inspecting","to":"verified","cue":"clean_for_review"}');
INSERT INTO "journal" VALUES(11,'crew#1',1.79490214609281897549e+09,'verified_clean','ada#1','{}');
INSERT INTO "journal" VALUES(12,'crew#1',1.79490214609281897549e+09,'task_moved','1','{"attempt":1,"from":"working","to":"reviewing","cue":"done"}');
INSERT INTO "journal" VALUES(13,'crew#1',1.79490214609281897549e+09,'starting','spec#1','{"role":"spec-reviewer","by":"lead"}');
INSERT INTO "journal" VALUES(14,'crew#1',1.79490214609281897549e+09,'task_member','1','{"attempt":1,"key":"spec#1","role":"spec-reviewer"}');
INSERT INTO "journal" VALUES(15,'crew#1',1.79490214613009047505e+09,'moved','spec#1','{"from":"starting","to":"running","cue":"registered"}');
INSERT INTO "journal" VALUES(16,'crew#1',1.79490215396988916397e+09,'moved','ada#1','{"from":"verified","to":"salvaging","cue":"exited"}');
INSERT INTO "journal" VALUES(17,'crew#1',1.79490215396988916397e+09,'exited','ada#1','{"detail":"gone, nobody saw how"}');
CREATE TABLE leases (
  name text primary key,
  holder text,                        -- null: released
  token integer not null,             -- only ever grows: a write under an older one is refused
  expires_at real not null
) strict, without rowid;
INSERT INTO "leases" VALUES('engine','28332',1,1.7949057458735954762e+09);
CREATE TABLE mail (
  seq integer primary key,
  id text not null unique,
  team text not null,
  sender text not null,
  box text not null,
  subject text not null,
  body text not null,
  type text not null,
  template text,
  request_id text,
  priority text not null,
  sent_at real not null,
  read_at real,
  bounced_from text,
  group_id text
) strict;
INSERT INTO "mail" VALUES(1,'268fb27deb044c2bbe6e9f725f59176f','crew#1','lead','ada#1','Your task','p

# Task 1: First

do one

When it is done: commit everything on your branch, leave no stash and no untracked file, then run
`headcount done`. If you are sent back, fix what is named and run `headcount done` again. When you are asked
to stand down, run `headcount approve`, or `headcount reject --reason WHY`. Your mail: `headcount inbox`.
','message',NULL,NULL,'normal',1.79490214593467569347e+09,NULL,NULL,NULL);
INSERT INTO "mail" VALUES(2,'m2','crew#1','ada#1','witness','Work Complete: 1','Work complete on 1.

[TEMPLATE]: WORKER_DONE
[RIG]: crew
[ISSUE]: 1
[CHECKLIST_VERIFIED]: false

Decommission checklist NOT verified - please check.
Ready for verification and session termination.
','message','WORKER_DONE',NULL,'normal',1.79490214606834483151e+09,NULL,NULL,NULL);
INSERT INTO "mail" VALUES(3,'9eac67dfa6ed4542acc9be569dab1d7e','crew#1','lead','spec#1','Your task','p

# Review task 1: First

do one

Commit: 4e4ceae6d8ac2f2eca934dd156aa65d4a118fd1c

Your workspace stands at the commit under review; change nothing. Say what you found with
`headcount review pass 1` or `headcount review changes 1 --reason "what must change"`. When you are
asked to stand down, run `headcount approve`. Your mail: `headcount inbox`.
','message',NULL,NULL,'normal',1.79490214609712743758e+09,NULL,NULL,NULL);
CREATE TABLE members (
  seq integer primary key,   -- the order in which they were started
  team text not null,
  key text not null,                  -- name#generation
  name text not null,
  generation integer not null,
  role text not null,
  state text not null,
  ask text,                           -- the request that it has to answer
  answer text,
  body text not null,                 -- JSON, the rules' own value
  unique (team, key)
) strict;
INSERT INTO "members" VALUES(1,'crew#1','ada#1','ada',1,'worker','salvaging',NULL,NULL,'{"name":"ada","generation":1,"role":"worker","state":"salvaging","epoch":5,"activity":"working","task":"1","awaits_review":true,"request":null,"ask":null,"answer":null,"answer_reason":"","held_done":false,"judging":false,"attempts":1,"failures":0,"silences":0,"waits":0,"issues":[],"terminated":false,"exited":true,"already_gone":false,"forced":false,"stuck":false,"alive":[],"refs":[],"escalation":null,"over_budget":false,"failure":"","settled":false,"unread":"","outcome":null}');
INSERT INTO "members" VALUES(2,'crew#1','spec#1','spec',1,'spec-reviewer','running',NULL,NULL,'{"name":"spec","generation":1,"role":"spec-reviewer","state":"running","epoch":2,"activity":"working","task":"1","awaits_review":false,"request":null,"ask":null,"answer":null,"answer_reason":"","held_done":false,"judging":false,"attempts":0,"failures":0,"silences":0,"waits":0,"issues":[],"terminated":false,"exited":false,"already_gone":false,"forced":false,"stuck":false,"alive":[],"refs":[],"escalation":null,"over_budget":false,"failure":"","settled":false,"unread":"","outcome":null}');
CREATE TABLE needs (
  team text not null,
  task text not null,
  position integer not null,
  needed text not null,
  primary key (team, task, position)
) strict, without rowid;
INSERT INTO "needs" VALUES('crew#1','2',0,'1');
CREATE TABLE seals (
  team text not null,
  key text not null,
  sealed_at real not null,
  primary key (team, key)
) strict, without rowid;
CREATE TABLE tasks (
  seq integer primary key,
  id text not null,
  team text not null,
  subject text not null,
  description text not null,
  active_form text,
  status text not null,
  owner text,
  metadata text not null,
  reason text not null,
  unique (team, id)
) strict;
INSERT INTO "tasks" VALUES(1,'1','crew#1','First','do one',NULL,'in_review','ada#1','{}','');
INSERT INTO "tasks" VALUES(2,'2','crew#1','Second','do two',NULL,'pending',NULL,'{}','');
CREATE TABLE teams (
  id text primary key,                -- name#generation
  name text not null,
  generation integer not null,
  status text not null,
  description text not null,
  settings text not null,             -- JSON, as it was given at creation
  state text not null,                -- JSON, the rules' own value without its members
  created_at real not null,
  -- taken from the settings, so that a member's command need not parse them
  peer_mail integer not null,
  message_bytes integer not null,
  description_bytes integer not null,
  subject_characters integer not null,
  max_tasks integer not null,
  unique (name, generation)
) strict;
INSERT INTO "teams" VALUES('crew#1','crew',1,'active','d','{"policy":{"answer_timeout_s":30,"start_timeout_s":60,"inspect_timeout_s":60,"judge_timeout_s":60,"nudge_timeout_s":120,"salvage_timeout_s":300,"exit_grace_s":5,"stop_grace_s":10,"finalizer_timeout_s":60,"gate_timeout_s":1800,"stall_timeout_s":1800,"cycle_after_s":0,"cycle_on_compact":false,"max_attempts":3,"max_waits":1,"on_escalation":"ask","notify":[],"max_members":16,"tasks_at_once":1,"review_rounds":3,"task_restarts":1,"budget_tokens":0,"budget_turns":0,"limit_wait_s":60,"cleanup_retries":1,"judge":"rules","require_merged":"run","peer_mail":false,"salvage_max_mb":2048,"salvage_ignored_max_mb":256},"limits":{"message_bytes":100000,"description_bytes":10000,"subject_characters":200,"tasks":1000,"members":1000},"mode":"run","agent":null}','{"name":"crew","generation":1,"status":"active","members":{},"generations":{"ada":1,"spec":1},"requests":{},"last_request":null,"escalations":{},"escalation_count":0,"close_step":null,"close_epoch":0,"close_failures":0,"warnings":[]}',1.79490214592669463161e+09,0,100000,10000,200,1000);
CREATE TABLE tokens (
  selector blob not null,             -- the first bytes of the digest find the row, the rest is compared
  digest blob not null,
  team text not null,
  key text not null,
  role text not null,
  primary key (selector, digest)
) strict, without rowid;
INSERT INTO "tokens" VALUES(X'A42079702465E271',X'A42079702465E2714437DDCD9330DA689A7467AAA97CB7BE3FF0A1B48E4A5516','crew#1','spec#1','spec-reviewer');
INSERT INTO "tokens" VALUES(X'F8FEF379EA699505',X'F8FEF379EA6995056730DAE6A71A506B352320DC0C2743C59E8F93C7BECCE103','crew#1','ada#1','worker');
CREATE UNIQUE INDEX teams_open on teams (name) where status <> 'shutdown';
CREATE UNIQUE INDEX members_name on members (team, name, generation);
CREATE INDEX journal_team on journal (team, seq);
CREATE TRIGGER journal_is_never_rewritten before update on journal
begin
  select raise(abort, 'the journal is append-only');
end;
CREATE TRIGGER journal_is_never_shortened before delete on journal
begin
  select raise(abort, 'the journal is append-only');
end;
CREATE INDEX inputs_team on inputs (team, seq);
CREATE INDEX acts_pending on acts (team, seq) where ended_at is null;
CREATE INDEX mail_box on mail (team, box, read_at);
CREATE TRIGGER mail_is_kept_until_handled before delete on mail
when old.read_at is null or exists (select 1 from teams where id = old.team and status <> 'shutdown')
begin
  select raise(abort, 'unread mail and the mail of an open team are never deleted');
end;
CREATE INDEX facts_name on facts (team, name);
COMMIT;
