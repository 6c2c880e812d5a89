-- A database of schema 0008, as the penstock of its day wrote it.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0008');
CREATE TABLE check_results (
	batch BIGINT NOT NULL,
	number BIGINT NOT NULL,
	run TEXT NOT NULL,
	step_seq BIGINT,
	model_id BIGINT NOT NULL,
	phase TEXT NOT NULL,
	name TEXT NOT NULL,
	type TEXT NOT NULL,
	severity TEXT NOT NULL,
	status TEXT NOT NULL,
	partitions TEXT NOT NULL,
	message TEXT NOT NULL,
	details TEXT,
	"values" TEXT NOT NULL,
	failures BIGINT,
	sample TEXT,
	error TEXT,
	scope TEXT NOT NULL,
	version BIGINT,
	definition TEXT NOT NULL,
	started DATETIME NOT NULL,
	duration_us BIGINT DEFAULT '0' NOT NULL,
	"where" TEXT,
	CONSTRAINT pk_check_results PRIMARY KEY (batch, number),
	CONSTRAINT fk_check_results_step_seq FOREIGN KEY(step_seq) REFERENCES steps (step_seq),
	CONSTRAINT fk_check_results_model_id FOREIGN KEY(model_id) REFERENCES models (id)
);
INSERT INTO "check_results" VALUES(1,1,'run-6',24,7,'after','min_rows','row_count','error','failed','1970-01-04','min_rows failed',NULL,'[{"group":"1970-01-04","status":"failed","values":{"rows":"3"},"message":"rows 3","details":null,"failures":null}]',NULL,NULL,NULL,'step',4,'digest-of-min_rows','2024-03-31 12:00:00.000000',0,NULL);
CREATE TABLE contents (
	hash TEXT NOT NULL,
	text BLOB NOT NULL,
	CONSTRAINT pk_contents PRIMARY KEY (hash)
);
INSERT INTO "contents" VALUES('sql-1',X'789C2B4ECD494D2E51D052482BCACF55284A2CD7CB2F4A492D2A56D0D55538BC1200A4840ACC');
INSERT INTO "contents" VALUES('sql-2',X'789C2B4ECD494D2E513052D0D55538BC870B00291D04F6');
CREATE TABLE "execution_history" (
	id TEXT NOT NULL,
	model_id BIGINT NOT NULL,
	ord BIGINT NOT NULL,
	partition TEXT NOT NULL,
	step_seq BIGINT NOT NULL,
	fingerprint_id BIGINT NOT NULL,
	executed_at DATETIME NOT NULL,
	execution_time_ms BIGINT DEFAULT '0' NOT NULL,
	rows_written BIGINT DEFAULT '0',
	bytes_written BIGINT DEFAULT '0',
	status TEXT NOT NULL,
	error_code TEXT DEFAULT ('') NOT NULL,
	error_message TEXT DEFAULT ('') NOT NULL,
	triggered_by TEXT NOT NULL,
	executed_by TEXT NOT NULL,
	CONSTRAINT pk_execution_history PRIMARY KEY (id),
	CONSTRAINT fk_execution_history_fingerprint_id FOREIGN KEY(fingerprint_id) REFERENCES fingerprints (id),
	CONSTRAINT fk_execution_history_step_seq FOREIGN KEY(step_seq) REFERENCES steps (step_seq),
	CONSTRAINT fk_execution_history_model_id FOREIGN KEY(model_id) REFERENCES models (id)
);
INSERT INTO "execution_history" VALUES('018df9e2-b7dc-7000-8000-000000000002',1,0,'*',1,1,'2024-03-01 12:00:01.500000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-bdb8-7000-8000-000000000003',1,0,'*',2,1,'2024-03-01 12:00:03.000000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-c394-7000-8000-000000000004',1,0,'*',3,1,'2024-03-01 12:00:04.500000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-c970-7000-8000-000000000005',1,0,'*',4,1,'2024-03-01 12:00:06.000000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-cf4c-7000-8000-000000000006',1,0,'*',5,1,'2024-03-01 12:00:07.500000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-d334-7000-8000-000000000007',1,0,'*',6,1,'2024-03-01 12:00:08.500000',1000,0,0,'FAILED','null-key','3 rows have no id','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-d910-7000-8000-000000000008',2,0,'*',7,2,'2024-03-01 12:00:10.000000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-deec-7000-8000-000000000009',2,0,'*',8,2,'2024-03-01 12:00:11.500000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-e4c8-7000-8000-00000000000a',3,0,'*',9,3,'2024-03-01 12:00:13.000000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-eaa4-7000-8000-00000000000b',4,0,'*',10,4,'2024-03-01 12:00:14.500000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-f080-7000-8000-00000000000c',5,0,'*',12,5,'2024-03-01 12:00:16.000000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-f468-7000-8000-00000000000d',5,0,'*',11,5,'2024-03-01 12:00:17.000000',250,3,30,'SUCCESS','','','recover','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-fa44-7000-8000-00000000000e',6,0,'*',13,6,'2024-03-01 12:00:18.500000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e2-fa44-7000-8000-00000000000f',6,0,'*',14,6,'2024-03-01 12:00:00.000000',250,3,30,'SUCCESS','','','run','');
INSERT INTO "execution_history" VALUES('018df9e3-a23c-7000-8000-000000000065',4,0,'*',16,4,'2024-03-01 12:01:01.500000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e3-a818-7000-8000-000000000066',4,0,'*',17,7,'2024-03-01 12:01:03.000000',1500,0,0,'FAILED','null-key','3 rows have no id','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e4-8c9c-7000-8000-0000000000c9',7,1,'1970-01-02',18,8,'2024-03-01 12:02:01.500000',250,7,70,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e4-8c9c-7000-8000-0000000000ca',7,2,'1970-01-03',18,8,'2024-03-01 12:02:01.500000',250,5,50,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e4-8c9c-7000-8000-0000000000cb',7,3,'1970-01-04',18,8,'2024-03-01 12:02:01.500000',250,0,0,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e4-9278-7000-8000-0000000000cc',7,3,'1970-01-04',19,9,'2024-03-01 12:02:03.000000',250,2,20,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e4-9278-7000-8000-0000000000cd',7,4,'1970-01-05',19,9,'2024-03-01 12:02:03.000000',250,0,0,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e4-9854-7000-8000-0000000000ce',7,5,'1970-01-06',20,8,'2024-03-01 12:02:04.500000',1500,0,0,'FAILED','null-key','3 rows have no id','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e4-9e30-7000-8000-0000000000cf',7,4,'1970-01-05',21,8,'2024-03-01 12:02:06.000000',250,3,30,'SUCCESS','','','run','ann@host-a');
INSERT INTO "execution_history" VALUES('018df9e4-a40c-7000-8000-0000000000d0',7,4,'1970-01-05',22,9,'2024-03-01 12:02:07.500000',250,3,30,'SUCCESS','','','rollback','ann@host-a');
INSERT INTO "execution_history" VALUES('018e9461-7a00-7000-8000-000000000001',7,3,'1970-01-04',24,8,'2024-03-31 12:00:00.000000',250,3,30,'FAILED','after-check-failed','orders: min_rows','run','ann@host-a');
CREATE TABLE fingerprints (
	id BIGINT NOT NULL,
	model_id BIGINT NOT NULL,
	version TEXT DEFAULT '' NOT NULL,
	revision TEXT DEFAULT '' NOT NULL,
	effective_from DATE,
	sql_checksum TEXT NOT NULL,
	canonical_checksum TEXT NOT NULL,
	settings_checksum TEXT NOT NULL,
	layout_checksum TEXT NOT NULL,
	schema_checksum TEXT DEFAULT '' NOT NULL,
	yaml_checksum TEXT DEFAULT '' NOT NULL,
	schema_json TEXT DEFAULT '' NOT NULL,
	parser_version TEXT DEFAULT '' NOT NULL,
	CONSTRAINT pk_fingerprints PRIMARY KEY (id),
	CONSTRAINT fk_fingerprints_model_id FOREIGN KEY(model_id) REFERENCES models (id)
);
INSERT INTO "fingerprints" VALUES(1,1,'1','',NULL,'sql-1','canonical-1','settings-1','layout-1','','','','');
INSERT INTO "fingerprints" VALUES(2,2,'1','',NULL,'sql-1','canonical-1','settings-1','layout-1','','','','');
INSERT INTO "fingerprints" VALUES(3,3,'1','',NULL,'sql-1','canonical-1','settings-1','layout-1','','','','');
INSERT INTO "fingerprints" VALUES(4,4,'1','',NULL,'sql-1','canonical-1','settings-1','layout-1','','','','');
INSERT INTO "fingerprints" VALUES(5,5,'1','',NULL,'sql-1','canonical-1','settings-1','layout-1','','','','');
INSERT INTO "fingerprints" VALUES(6,6,'1','',NULL,'sql-1','canonical-1','settings-1','layout-1','','','','');
INSERT INTO "fingerprints" VALUES(7,4,'1','',NULL,'sql-2','canonical-2','','','','','','');
INSERT INTO "fingerprints" VALUES(8,7,'1','',NULL,'sql-1','canonical-1','settings-1','layout-1','','','','');
INSERT INTO "fingerprints" VALUES(9,7,'2','1','2024-03-01','sql-2','canonical-2','','','schema-2','yaml-2','','30.1');
CREATE TABLE flags (
	step_seq BIGINT NOT NULL,
	ord BIGINT NOT NULL,
	model_id BIGINT NOT NULL,
	partition TEXT NOT NULL,
	checks TEXT NOT NULL,
	version BIGINT,
	opened DATETIME NOT NULL,
	closed DATETIME,
	why TEXT DEFAULT '' NOT NULL,
	who TEXT DEFAULT '' NOT NULL,
	CONSTRAINT pk_flags PRIMARY KEY (step_seq, ord),
	CONSTRAINT fk_flags_step_seq FOREIGN KEY(step_seq) REFERENCES steps (step_seq),
	CONSTRAINT fk_flags_model_id FOREIGN KEY(model_id) REFERENCES models (id)
);
INSERT INTO "flags" VALUES(24,3,7,'1970-01-04','["min_rows"]',4,'2024-03-31 12:00:00.000000',NULL,'','');
CREATE TABLE hook_results (
	run TEXT NOT NULL,
	step TEXT NOT NULL,
	moment TEXT NOT NULL,
	number BIGINT NOT NULL,
	model TEXT DEFAULT '' NOT NULL,
	text TEXT NOT NULL,
	status TEXT NOT NULL,
	run_timestamp DATETIME NOT NULL,
	started DATETIME,
	duration_ms BIGINT DEFAULT '0' NOT NULL,
	error_code TEXT DEFAULT '' NOT NULL,
	error_message TEXT DEFAULT '' NOT NULL,
	error_where TEXT DEFAULT '' NOT NULL,
	error_hint TEXT DEFAULT '' NOT NULL,
	CONSTRAINT pk_hook_results PRIMARY KEY (run, step, moment, number)
);
INSERT INTO "hook_results" VALUES('run-1','step-7','before',0,'users','refresh table raw.users','SUCCESS','2024-03-01 12:00:00.000000','2024-03-01 12:00:00.000000',12,'','','','');
INSERT INTO "hook_results" VALUES('run-1','step-7','after',0,'users','optimise mart.users','FAILED','2024-03-01 12:00:00.000000','2024-03-01 12:00:00.000000',7,'hook-failed','the hook after of users failed','models/users.sql:1','penstock recover');
CREATE TABLE leases (
	target TEXT NOT NULL,
	token BIGINT NOT NULL,
	run TEXT,
	host TEXT,
	pid BIGINT,
	acquired DATETIME,
	heartbeat DATETIME,
	expires DATETIME, process TEXT DEFAULT '' NOT NULL,
	CONSTRAINT pk_leases PRIMARY KEY (target)
);
INSERT INTO "leases" VALUES('mart.orders',6,NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "leases" VALUES('mart.users',3,'run-2','host-a',22,'2024-03-01 12:00:18.500000','2024-03-01 12:00:18.500000','2024-03-01 12:01:18.500000','');
INSERT INTO "leases" VALUES('mart.view',1,NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "leases" VALUES('mart.cities',4,NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "leases" VALUES('mart.late',2,NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "leases" VALUES('mart.rebuilt',1,NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "leases" VALUES('mart.visits',6,NULL,NULL,NULL,NULL,NULL,NULL,'');
CREATE TABLE models (
	id BIGINT NOT NULL,
	name TEXT NOT NULL, grid TEXT DEFAULT '*' NOT NULL,
	CONSTRAINT pk_models PRIMARY KEY (id),
	CONSTRAINT uq_models_name UNIQUE (name)
);
INSERT INTO "models" VALUES(1,'orders','*');
INSERT INTO "models" VALUES(2,'users','*');
INSERT INTO "models" VALUES(3,'view','*');
INSERT INTO "models" VALUES(4,'cities','*');
INSERT INTO "models" VALUES(5,'late','*');
INSERT INTO "models" VALUES(6,'rebuilt','*');
INSERT INTO "models" VALUES(7,'visits','DAY');
CREATE TABLE "partition_state" (
	model_id BIGINT NOT NULL,
	ord BIGINT NOT NULL,
	partition TEXT NOT NULL,
	status TEXT NOT NULL,
	fingerprint_id BIGINT,
	step_seq BIGINT,
	last_step_seq BIGINT NOT NULL,
	commit_version BIGINT,
	settled_version BIGINT,
	executed_at DATETIME,
	execution_time_ms BIGINT DEFAULT '0' NOT NULL,
	rows_written BIGINT DEFAULT '0',
	bytes_written BIGINT DEFAULT '0',
	CONSTRAINT pk_partition_state PRIMARY KEY (model_id, ord),
	CONSTRAINT fk_partition_state_fingerprint_id FOREIGN KEY(fingerprint_id) REFERENCES fingerprints (id),
	CONSTRAINT fk_partition_state_last_step_seq FOREIGN KEY(last_step_seq) REFERENCES steps (step_seq),
	CONSTRAINT fk_partition_state_model_id FOREIGN KEY(model_id) REFERENCES models (id),
	CONSTRAINT fk_partition_state_step_seq FOREIGN KEY(step_seq) REFERENCES steps (step_seq)
);
INSERT INTO "partition_state" VALUES(1,0,'*','FAILED',1,4,6,2,3,'2024-03-01 12:00:06.000000',250,3,30);
INSERT INTO "partition_state" VALUES(2,0,'*','SUCCESS',2,8,8,1,1,'2024-03-01 12:00:11.500000',250,3,30);
INSERT INTO "partition_state" VALUES(3,0,'*','SUCCESS',3,9,9,NULL,NULL,'2024-03-01 12:00:13.000000',250,3,30);
INSERT INTO "partition_state" VALUES(4,0,'*','FAILED',4,16,23,1,NULL,'2024-03-01 12:01:01.500000',250,3,30);
INSERT INTO "partition_state" VALUES(5,0,'*','SUCCESS',5,12,12,1,1,'2024-03-01 12:00:16.000000',250,3,30);
INSERT INTO "partition_state" VALUES(6,0,'*','SUCCESS',6,13,14,1,1,'2024-03-01 12:00:18.500000',250,3,30);
INSERT INTO "partition_state" VALUES(7,1,'1970-01-02','SUCCESS',8,18,18,0,0,'2024-03-01 12:02:01.500000',250,7,70);
INSERT INTO "partition_state" VALUES(7,2,'1970-01-03','SUCCESS',8,18,18,0,0,'2024-03-01 12:02:01.500000',250,5,50);
INSERT INTO "partition_state" VALUES(7,3,'1970-01-04','FAILED',8,24,24,4,4,'2024-03-31 12:00:00.000000',250,3,30);
INSERT INTO "partition_state" VALUES(7,4,'1970-01-05','SUCCESS',9,19,22,3,3,'2024-03-01 12:02:03.000000',250,0,0);
INSERT INTO "partition_state" VALUES(7,5,'1970-01-06','FAILED',NULL,NULL,20,NULL,NULL,NULL,0,0,0);
CREATE TABLE project (
	store_id TEXT NOT NULL,
	format_version INTEGER NOT NULL,
	name TEXT NOT NULL,
	target TEXT NOT NULL,
	penstock TEXT NOT NULL, epoch TEXT DEFAULT '' NOT NULL,
	CONSTRAINT pk_project PRIMARY KEY (store_id)
);
INSERT INTO "project" VALUES('018df9e2-b200-7000-8000-000000000001',1,'shop','dev','0.1.0','018df9e2-b200-7000-8000-000000000001');
CREATE TABLE quarantines (
	step_seq BIGINT NOT NULL,
	model_id BIGINT NOT NULL,
	uri TEXT NOT NULL,
	"table" TEXT NOT NULL,
	failed TEXT NOT NULL,
	rows BIGINT DEFAULT '0' NOT NULL,
	expires DATETIME NOT NULL,
	dropped DATETIME,
	CONSTRAINT pk_quarantines PRIMARY KEY (step_seq),
	CONSTRAINT fk_quarantines_step_seq FOREIGN KEY(step_seq) REFERENCES steps (step_seq),
	CONSTRAINT fk_quarantines_model_id FOREIGN KEY(model_id) REFERENCES models (id)
);
CREATE TABLE runs (
	id TEXT NOT NULL,
	command TEXT NOT NULL,
	arguments TEXT NOT NULL,
	target TEXT NOT NULL,
	run_timestamp DATETIME NOT NULL,
	host TEXT NOT NULL,
	user TEXT NOT NULL,
	pid BIGINT NOT NULL,
	started DATETIME NOT NULL,
	ended DATETIME,
	status TEXT NOT NULL,
	CONSTRAINT pk_runs PRIMARY KEY (id)
);
INSERT INTO "runs" VALUES('run-1','run','--threads 2','dev','2024-03-01 12:00:00.000000','host-a','ann',11,'2024-03-01 12:00:00.000000','2024-03-01 12:00:18.500000','FAILED');
INSERT INTO "runs" VALUES('run-2','run','--threads 2','dev','2024-03-01 12:00:00.000000','host-a','bob',22,'2024-03-01 12:00:00.000000',NULL,'RUNNING');
INSERT INTO "runs" VALUES('run-4','run','--threads 2','dev','2024-03-01 12:00:00.000000','host-a','ann',11,'2024-03-01 12:01:00.000000','2024-03-01 12:01:03.000000','FAILED');
INSERT INTO "runs" VALUES('run-5','run','--threads 2','dev','2024-03-01 12:00:00.000000','host-a','ann',11,'2024-03-01 12:02:00.000000','2024-03-01 12:02:09.000000','FAILED');
INSERT INTO "runs" VALUES('run-6','run','--threads 2','dev','2024-03-01 12:00:00.000000','host-a','ann',11,'2024-03-31 12:00:00.000000','2024-03-31 12:00:00.000000','FAILED');
CREATE TABLE seen_tables (
	name TEXT NOT NULL,
	table_id TEXT NOT NULL,
	seen_version BIGINT NOT NULL,
	CONSTRAINT pk_seen_tables PRIMARY KEY (name)
);
INSERT INTO "seen_tables" VALUES('mart.visits','table-visits',3);
CREATE TABLE session_manifest (
	package TEXT NOT NULL,
	model TEXT NOT NULL,
	last_success DATETIME,
	covered_to DATETIME,
	advanced_to DATETIME,
	fingerprint TEXT DEFAULT '' NOT NULL,
	run TEXT DEFAULT '' NOT NULL,
	updated_at DATETIME, late_to TEXT,
	CONSTRAINT pk_session_manifest PRIMARY KEY (package, model)
);
INSERT INTO "session_manifest" VALUES('web','web_users','2021-01-02 01:00:00.000000','2021-01-03 00:00:00.000000',NULL,'f','run-1','2024-03-01 12:00:00.000000','{"raw.events":{"table_id":"t-1","version":7}}');
CREATE TABLE session_releases (
	package TEXT NOT NULL,
	session TEXT NOT NULL,
	asked_at DATETIME NOT NULL,
	who TEXT DEFAULT '' NOT NULL,
	CONSTRAINT pk_session_releases PRIMARY KEY (package, session)
);
INSERT INTO "session_releases" VALUES('web','s1','2024-03-01 12:00:00.000000','ann');
CREATE TABLE session_runs (
	package TEXT NOT NULL,
	seq BIGINT NOT NULL,
	kind TEXT NOT NULL,
	run TEXT NOT NULL,
	status TEXT NOT NULL,
	state INTEGER NOT NULL,
	lower_limit DATETIME NOT NULL,
	upper_limit DATETIME NOT NULL,
	now DATETIME NOT NULL,
	pins TEXT NOT NULL,
	events TEXT,
	caught_up BOOLEAN NOT NULL,
	future_events BOOLEAN,
	started DATETIME,
	ended DATETIME, rebuild TEXT,
	CONSTRAINT pk_session_runs PRIMARY KEY (package, seq, kind)
);
INSERT INTO "session_runs" VALUES('web',1,'package','run-1','SUCCESS',4,'2021-01-01 14:00:00.000000','2021-01-03 00:00:00.000000','2021-01-03 00:00:00.000000','{"raw.events":["delta","table-raw",4],"raw.old":["files","digest",3]}','{"greatest":"2021-01-02T01:00:00.000001+00:00","later_events":false,"window":{"read":10,"filtered":0,"null_device":0,"late":7,"null_session":0,"quarantined":0,"before_start":0,"beyond_cap":0,"duplicate":0,"kept":3},"history":{"read":2,"filtered":0,"null_device":0,"late":0,"null_session":0,"quarantined":0,"before_start":0,"beyond_cap":0,"duplicate":0,"kept":2},"behind":1}',1,0,'2024-03-01 12:00:00.000000','2024-03-01 12:00:00.000000','{"first":"2024-03-01","last":"2024-03-02","sessions":[],"before":{}}');
CREATE TABLE session_tables (
	package TEXT NOT NULL,
	model TEXT NOT NULL,
	overwrites BOOLEAN NOT NULL,
	stitched_seq BIGINT DEFAULT '0' NOT NULL,
	CONSTRAINT pk_session_tables PRIMARY KEY (package, model)
);
INSERT INTO "session_tables" VALUES('web','web_users',0,1);
CREATE TABLE slice_skips (
	id BIGINT NOT NULL,
	model_id BIGINT NOT NULL,
	name TEXT NOT NULL,
	skips BOOLEAN NOT NULL,
	why TEXT DEFAULT '' NOT NULL,
	who TEXT DEFAULT '' NOT NULL,
	at DATETIME NOT NULL,
	last_step_seq BIGINT NOT NULL,
	CONSTRAINT pk_slice_skips PRIMARY KEY (id),
	CONSTRAINT fk_slice_skips_model_id FOREIGN KEY(model_id) REFERENCES models (id)
);
CREATE TABLE step_inputs (
	step_seq BIGINT NOT NULL,
	input TEXT NOT NULL,
	kind TEXT NOT NULL,
	table_id TEXT NOT NULL,
	pinned_version BIGINT NOT NULL,
	CONSTRAINT pk_step_inputs PRIMARY KEY (step_seq, input),
	CONSTRAINT fk_step_inputs_step_seq FOREIGN KEY(step_seq) REFERENCES steps (step_seq)
);
INSERT INTO "step_inputs" VALUES(1,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(2,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(3,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(4,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(5,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(6,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(7,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(8,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(9,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(10,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(11,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(12,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(13,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(14,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(15,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(16,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(17,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(18,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(19,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(20,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(21,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(23,'raw.orders','delta','table-raw',4);
INSERT INTO "step_inputs" VALUES(24,'raw.orders','delta','table-raw',4);
CREATE TABLE steps (
	step_seq BIGINT NOT NULL,
	id TEXT NOT NULL,
	run TEXT NOT NULL,
	model_id BIGINT NOT NULL,
	target TEXT NOT NULL,
	kind TEXT NOT NULL,
	partitions TEXT NOT NULL,
	intent TEXT NOT NULL,
	lease_token BIGINT NOT NULL,
	status TEXT NOT NULL,
	reason TEXT NOT NULL,
	run_date DATE NOT NULL,
	executed_by TEXT NOT NULL,
	recovered BOOLEAN NOT NULL,
	started DATETIME NOT NULL,
	ended DATETIME,
	table_id TEXT,
	commit_version BIGINT,
	settled_version BIGINT,
	rows_written BIGINT DEFAULT '0' NOT NULL,
	rows_inserted BIGINT DEFAULT '0' NOT NULL,
	rows_updated BIGINT DEFAULT '0' NOT NULL,
	rows_deleted BIGINT DEFAULT '0' NOT NULL,
	rows_late BIGINT,
	rows_null_time BIGINT DEFAULT '0' NOT NULL,
	bytes_written BIGINT DEFAULT '0' NOT NULL,
	duration_ms BIGINT DEFAULT '0' NOT NULL,
	metrics TEXT NOT NULL,
	error_code TEXT DEFAULT '' NOT NULL,
	error_message TEXT DEFAULT '' NOT NULL,
	error_where TEXT DEFAULT '' NOT NULL,
	error_hint TEXT DEFAULT '' NOT NULL, grid TEXT DEFAULT '*' NOT NULL, undone_by BIGINT, checked TEXT, pending TEXT, slice TEXT,
	CONSTRAINT pk_steps PRIMARY KEY (step_seq),
	CONSTRAINT fk_steps_model_id FOREIGN KEY(model_id) REFERENCES models (id),
	CONSTRAINT uq_steps_id UNIQUE (id)
);
INSERT INTO "steps" VALUES(1,'step-1','run-1',1,'mart.orders','build','*','{"step":"step-1","step_seq":1,"run":"run-1","model":"orders","table":["mart","orders"],"uri":"/warehouse/mart/orders","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-01T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[["raw.orders","n","BIGINT 5"]],"lowers_watermarks":true,"base_version":null}',1,'SUCCESS','never_run','2024-03-01','ann@host-a',0,'2024-03-01 12:00:00.000000','2024-03-01 12:00:01.500000','table-orders',0,0,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(2,'step-2','run-1',1,'mart.orders','build','*','{"step":"step-2","step_seq":2,"run":"run-1","model":"orders","table":["mart","orders"],"uri":"/warehouse/mart/orders","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-03T02:00:00.000250+02:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[["raw.orders","n","BIGINT 7"]],"lowers_watermarks":false,"base_version":null}',2,'SUCCESS','never_run','2024-03-03','ann@host-a',0,'2024-03-01 12:00:01.500000','2024-03-01 12:00:03.000000','table-orders',1,1,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(3,'step-3','run-1',1,'mart.orders','build','*','{"step":"step-3","step_seq":3,"run":"run-1","model":"orders","table":["mart","orders"],"uri":"/warehouse/mart/orders","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-02T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[["raw.orders","n","BIGINT 7"]],"lowers_watermarks":false,"base_version":null}',3,'SUCCESS','never_run','2024-03-02','ann@host-a',0,'2024-03-01 12:00:03.000000','2024-03-01 12:00:04.500000','table-orders',2,2,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(4,'step-4','run-1',1,'mart.orders','build','*','{"step":"step-4","step_seq":4,"run":"run-1","model":"orders","table":["mart","orders"],"uri":"/warehouse/mart/orders","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-04T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null}',4,'SUCCESS','never_run','2024-03-04','ann@host-a',0,'2024-03-01 12:00:04.500000','2024-03-01 12:00:06.000000','table-orders',NULL,NULL,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(5,'step-5','run-1',1,'mart.orders','alter','*','{"step":"step-5","step_seq":5,"run":"run-1","model":"orders","table":["mart","orders"],"uri":"/warehouse/mart/orders","kind":"alter","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-05T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null}',5,'SUCCESS','never_run','2024-03-05','ann@host-a',0,'2024-03-01 12:00:06.000000','2024-03-01 12:00:07.500000','table-orders',3,3,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(6,'step-6','run-1',1,'mart.orders','build','*','{"step":"step-6","step_seq":6,"run":"run-1","model":"orders","table":["mart","orders"],"uri":"/warehouse/mart/orders","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-06T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null}',6,'FAILED','never_run','2024-03-06','ann@host-a',0,'2024-03-01 12:00:07.500000','2024-03-01 12:00:08.500000',NULL,NULL,NULL,0,0,0,0,NULL,0,0,1000,'{}','null-key','3 rows have no id','models/orders.sql:4','fill them','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(7,'step-7','run-1',2,'mart.users','build','*','{"step":"step-7","step_seq":7,"run":"run-1","model":"users","table":["mart","users"],"uri":"/warehouse/mart/users","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-09T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":true,"base_version":null}',1,'SUCCESS','never_run','2024-03-09','ann@host-a',0,'2024-03-01 12:00:08.500000','2024-03-01 12:00:10.000000','table-orders',0,0,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(8,'step-8','run-1',2,'mart.users','build','*','{"step":"step-8","step_seq":8,"run":"run-1","model":"users","table":["mart","users"],"uri":"/warehouse/mart/users","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-02T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":true,"base_version":null}',2,'SUCCESS','never_run','2024-03-02','ann@host-a',0,'2024-03-01 12:00:10.000000','2024-03-01 12:00:11.500000','table-orders',1,1,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(9,'step-9','run-1',3,'mart.view','build','*','{"step":"step-9","step_seq":9,"run":"run-1","model":"view","table":["mart","view"],"uri":"/warehouse/mart/view","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-09T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":true,"base_version":null}',1,'SUCCESS','never_run','2024-03-09','ann@host-a',0,'2024-03-01 12:00:11.500000','2024-03-01 12:00:13.000000','table-orders',NULL,NULL,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(10,'step-10','run-1',4,'mart.cities','seed','*','{"step":"step-10","step_seq":10,"run":"run-1","model":"cities","table":["mart","cities"],"uri":"/warehouse/mart/cities","kind":"seed","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-08T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null}',1,'SUCCESS','never_run','2024-03-08','ann@host-a',0,'2024-03-01 12:00:13.000000','2024-03-01 12:00:14.500000','table-orders',0,0,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(11,'step-11','run-1',5,'mart.late','build','*','{"step":"step-11","step_seq":11,"run":"run-1","model":"late","table":["mart","late"],"uri":"/warehouse/mart/late","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-02T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":true,"base_version":null}',1,'SUCCESS','never_run','2024-03-02','ann@host-a',1,'2024-03-01 12:00:14.500000','2024-03-01 12:00:17.000000','table-orders',0,0,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(12,'step-12','run-1',5,'mart.late','build','*','{"step":"step-12","step_seq":12,"run":"run-1","model":"late","table":["mart","late"],"uri":"/warehouse/mart/late","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-04T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null}',2,'SUCCESS','never_run','2024-03-04','ann@host-a',0,'2024-03-01 12:00:14.500000','2024-03-01 12:00:16.000000','table-orders',1,1,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(13,'step-13','run-1',6,'mart.rebuilt','build','*','{"step":"step-13","step_seq":13,"run":"run-1","model":"rebuilt","table":["mart","rebuilt"],"uri":"/warehouse/mart/rebuilt","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-07T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null}',1,'SUCCESS','never_run','2024-03-07','ann@host-a',0,'2024-03-01 12:00:17.000000','2024-03-01 12:00:18.500000','table-orders',1,1,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(14,'lost','run-1',6,'mart.rebuilt','build','*','{"step":"lost","step_seq":14,"run":"run-1","model":"rebuilt","table":["mart","rebuilt"],"uri":"/warehouse/mart/rebuilt","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-01T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":true,"base_version":null}',0,'SUCCESS','never_run','2024-03-01','',0,'2024-03-01 11:59:59.750000','2024-03-01 12:00:00.000000','table-orders',0,0,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(15,'step-15','run-2',2,'mart.users','build','*','{"step":"step-15","step_seq":15,"run":"run-2","model":"users","table":["mart","users"],"uri":"/warehouse/mart/users","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-10T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null}',3,'RUNNING','never_run','2024-03-10','bob@host-a',0,'2024-03-01 12:00:18.500000',NULL,NULL,NULL,NULL,0,0,0,0,NULL,0,0,0,'{}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(16,'step-16','run-4',4,'mart.cities','build','*','{"step":"step-16","step_seq":16,"run":"run-4","model":"cities","table":["mart","cities"],"uri":"/warehouse/mart/cities","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-11T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[["raw.orders","n","BIGINT 3"]],"lowers_watermarks":false,"base_version":null}',2,'SUCCESS','never_run','2024-03-11','ann@host-a',0,'2024-03-01 12:01:00.000000','2024-03-01 12:01:01.500000','table-orders',1,1,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(17,'step-17','run-4',4,'mart.cities','build','*','{"step":"step-17","step_seq":17,"run":"run-4","model":"cities","table":["mart","cities"],"uri":"/warehouse/mart/cities","kind":"build","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-12T00:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-2","canonical":"canonical-2"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null}',3,'FAILED','never_run','2024-03-12','ann@host-a',0,'2024-03-01 12:01:01.500000','2024-03-01 12:01:03.000000',NULL,NULL,NULL,0,0,0,0,NULL,0,0,1500,'{}','null-key','3 rows have no id','models/orders.sql:4','fill them','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(18,'step-18','run-5',7,'mart.visits','build','1970-01-02..1970-01-04','{"step":"step-18","step_seq":18,"run":"run-5","model":"visits","table":["mart","visits"],"uri":"/warehouse/mart/visits","kind":"build","strategy":"partition","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-01T12:00:00+00:00","partitions":"1970-01-02..1970-01-04","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null,"grid":"DAY"}',1,'SUCCESS','never_run','2024-03-01','ann@host-a',0,'2024-03-01 12:02:00.000000','2024-03-01 12:02:01.500000','table-orders',0,0,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','DAY',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(19,'step-19','run-5',7,'mart.visits','build','1970-01-04..1970-01-05','{"step":"step-19","step_seq":19,"run":"run-5","model":"visits","table":["mart","visits"],"uri":"/warehouse/mart/visits","kind":"build","strategy":"partition","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-01T12:00:00+00:00","partitions":"1970-01-04..1970-01-05","fingerprints":{"sql":"sql-2","canonical":"canonical-2","version":2,"revision":1,"effective_from":"2024-03-01","schema":"schema-2","yaml":"yaml-2","parser":"30.1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null,"grid":"DAY"}',2,'SUCCESS','never_run','2024-03-01','ann@host-a',0,'2024-03-01 12:02:01.500000','2024-03-01 12:02:03.000000','table-orders',1,1,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','DAY',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(20,'step-20','run-5',7,'mart.visits','build','1970-01-06','{"step":"step-20","step_seq":20,"run":"run-5","model":"visits","table":["mart","visits"],"uri":"/warehouse/mart/visits","kind":"build","strategy":"partition","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-01T12:00:00+00:00","partitions":"1970-01-06","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null,"grid":"DAY"}',3,'FAILED','never_run','2024-03-01','ann@host-a',0,'2024-03-01 12:02:03.000000','2024-03-01 12:02:04.500000',NULL,NULL,NULL,0,0,0,0,NULL,0,0,1500,'{}','null-key','3 rows have no id','models/orders.sql:4','fill them','DAY',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(21,'step-21','run-5',7,'mart.visits','build','1970-01-05','{"step":"step-21","step_seq":21,"run":"run-5","model":"visits","table":["mart","visits"],"uri":"/warehouse/mart/visits","kind":"build","strategy":"partition","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-01T12:00:00+00:00","partitions":"1970-01-05","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null,"grid":"DAY"}',4,'SUCCESS','never_run','2024-03-01','ann@host-a',0,'2024-03-01 12:02:04.500000','2024-03-01 12:02:06.000000','table-orders',2,2,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','DAY',22,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(22,'step-22','run-5',7,'mart.visits','rollback','1970-01-05','{"step":"step-22","step_seq":22,"run":"run-5","model":"visits","table":["mart","visits"],"uri":"/warehouse/mart/visits","kind":"rollback","strategy":"partition","reason":"never_run","triggered_by":"rollback","run_timestamp":"2024-03-01T12:00:00+00:00","partitions":"1970-01-05","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null,"grid":"DAY","restores":21}',5,'SUCCESS','never_run','2024-03-01','ann@host-a',0,'2024-03-01 12:02:06.000000','2024-03-01 12:02:07.500000','table-orders',3,3,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','DAY',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(23,'step-23','run-5',4,'mart.cities','create','*','{"step":"step-23","step_seq":23,"run":"run-5","model":"cities","table":["mart","cities"],"uri":"/warehouse/mart/cities","kind":"create","strategy":"append","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-01T12:00:00+00:00","partitions":"*","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null}',4,'SUCCESS','never_run','2024-03-01','ann@host-a',0,'2024-03-01 12:02:07.500000','2024-03-01 12:02:09.000000','table-orders',5,5,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','','','','','*',NULL,NULL,NULL,NULL);
INSERT INTO "steps" VALUES(24,'step-24','run-6',7,'mart.visits','build','1970-01-04','{"step":"step-24","step_seq":24,"run":"run-6","model":"visits","table":["mart","visits"],"uri":"/warehouse/mart/visits","kind":"build","strategy":"partition","reason":"never_run","triggered_by":"run","run_timestamp":"2024-03-01T12:00:00+00:00","partitions":"1970-01-04","fingerprints":{"sql":"sql-1","canonical":"canonical-1","settings":"settings-1","layout":"layout-1"},"inputs":[["raw.orders","delta","table-raw",4]],"window":[],"watermark":[],"lowers_watermarks":false,"base_version":null,"grid":"DAY","on_failure":"flag"}',6,'FAILED','never_run','2024-03-01','ann@host-a',0,'2024-03-31 12:00:00.000000','2024-03-31 12:00:00.000000','table-orders',4,4,3,3,0,0,NULL,0,30,250,'{"numOutputRows":3}','after-check-failed','orders: min_rows','models/orders.yml:7','look','DAY',NULL,'{"mode":"flag","version":4,"failure":{"code":"after-check-failed","message":"orders: min_rows","where":"models/orders.yml:7","hint":"look"},"failed":[[3,3]],"gates":[["min_rows",[[3,3]]]]}',NULL,NULL);
CREATE TABLE table_commits (
	name TEXT NOT NULL,
	version BIGINT NOT NULL,
	table_id TEXT NOT NULL,
	step TEXT DEFAULT '' NOT NULL,
	store TEXT DEFAULT '' NOT NULL,
	operation TEXT NOT NULL,
	user TEXT DEFAULT '' NOT NULL,
	time DATETIME NOT NULL,
	spans TEXT NOT NULL,
	CONSTRAINT pk_table_commits PRIMARY KEY (name, version),
	CONSTRAINT fk_table_commits_name FOREIGN KEY(name) REFERENCES seen_tables (name)
);
INSERT INTO "table_commits" VALUES('mart.visits',1,'table-visits','step-19','s','WRITE','','2024-03-01 12:00:00.000000','{"day":[[3,4]],"n":null}');
INSERT INTO "table_commits" VALUES('mart.visits',2,'table-visits','','','WRITE','eve','2024-03-01 12:00:00.000000','{}');
CREATE TABLE target_state (
	target TEXT NOT NULL,
	table_id TEXT NOT NULL,
	seen_version BIGINT,
	partition_field TEXT DEFAULT '' NOT NULL,
	partition_type TEXT DEFAULT '' NOT NULL, high_time DATETIME,
	CONSTRAINT pk_target_state PRIMARY KEY (target)
);
INSERT INTO "target_state" VALUES('mart.orders','table-orders',3,'','','2024-03-03 00:00:00.000250');
INSERT INTO "target_state" VALUES('mart.users','table-orders',1,'','','2024-03-02 00:00:00.000000');
INSERT INTO "target_state" VALUES('mart.view','table-orders',NULL,'','',NULL);
INSERT INTO "target_state" VALUES('mart.cities','table-orders',5,'','','2024-03-11 00:00:00.000000');
INSERT INTO "target_state" VALUES('mart.late','table-orders',1,'','','2024-03-04 00:00:00.000000');
INSERT INTO "target_state" VALUES('mart.rebuilt','table-orders',1,'','','2024-03-07 00:00:00.000000');
INSERT INTO "target_state" VALUES('mart.visits','table-orders',4,'','','2024-03-01 12:00:00.000000');
CREATE TABLE template_rows (
	"key" TEXT NOT NULL, 
	rows TEXT NOT NULL, 
	CONSTRAINT pk_template_rows PRIMARY KEY ("key")
);
INSERT INTO "template_rows" VALUES('aaaaaaaaaaaaaaaa','{"columns":[["method","string"]],"rows":[["card"],[null]]}');
CREATE TABLE watermarks (
	id BIGINT NOT NULL,
	model_id BIGINT NOT NULL,
	input TEXT NOT NULL,
	"column" TEXT NOT NULL,
	value TEXT,
	set_at DATETIME NOT NULL,
	step TEXT DEFAULT '' NOT NULL,
	who TEXT DEFAULT '' NOT NULL,
	why TEXT DEFAULT '' NOT NULL,
	CONSTRAINT pk_watermarks PRIMARY KEY (id),
	CONSTRAINT fk_watermarks_model_id FOREIGN KEY(model_id) REFERENCES models (id)
);
INSERT INTO "watermarks" VALUES(1,1,'raw.orders','n','BIGINT 5','2024-03-01 12:00:01.500000','step-1','','');
INSERT INTO "watermarks" VALUES(2,1,'raw.orders','n','BIGINT 7','2024-03-01 12:00:03.000000','step-2','','');
INSERT INTO "watermarks" VALUES(3,4,'raw.orders','n','BIGINT 3','2024-03-01 12:01:01.500000','step-16','','');
INSERT INTO "watermarks" VALUES(4,4,'raw.orders','n','BIGINT 2','2024-03-01 12:01:01.500000','','ann','late rows');
CREATE INDEX ix_slice_skips_model_id_name_id ON slice_skips (model_id, name, id);
CREATE INDEX ix_leases_run ON leases (run);
CREATE INDEX ix_fingerprints_model_id_sql_checksum ON fingerprints (model_id, sql_checksum);
CREATE INDEX ix_steps_model_id_step_seq ON steps (model_id, step_seq);
CREATE INDEX ix_steps_run ON steps (run);
CREATE INDEX ix_steps_status ON steps (status);
CREATE INDEX ix_watermarks_model_id_input_column_id ON watermarks (model_id, input, "column", id);
CREATE INDEX ix_execution_history_model_id_step_seq ON execution_history (model_id, step_seq);
CREATE INDEX ix_partition_state_groups ON partition_state (model_id, fingerprint_id, status, step_seq, ord, commit_version, settled_version);
CREATE VIEW partition_state_full AS
SELECT
    m.name AS "model", p."partition", CAST(f.version AS INTEGER) AS version,
    CAST(NULLIF(f.revision, '') AS INTEGER) AS sql_revision, f.effective_from,
    f.sql_checksum, f.canonical_checksum, f.settings_checksum, f.layout_checksum,
    f.schema_checksum, f.yaml_checksum,
    (SELECT json_group_object(i.input, i.pinned_version) FROM step_inputs i WHERE i.step_seq = p.step_seq) AS upstream_states,
    p.executed_at, p.execution_time_ms, p.rows_written, p.bytes_written, p.status,
    p.step_seq, p.last_step_seq, p.commit_version, p.settled_version
FROM partition_state p
JOIN models m ON m.id = p.model_id
LEFT JOIN fingerprints f ON f.id = p.fingerprint_id;
CREATE VIEW execution_history_full AS
SELECT
    h.id, m.name AS "model", h."partition", CAST(f.version AS INTEGER) AS version,
    CAST(NULLIF(f.revision, '') AS INTEGER) AS sql_revision,
    f.sql_checksum, f.canonical_checksum, f.settings_checksum, f.layout_checksum,
    f.schema_checksum,
    h.executed_at, h.execution_time_ms, h.rows_written, h.bytes_written, h.status,
    h.error_code, h.error_message, h.triggered_by, h.executed_by, h.step_seq
FROM execution_history h
JOIN models m ON m.id = h.model_id
JOIN fingerprints f ON f.id = h.fingerprint_id;
CREATE INDEX ix_steps_pending ON steps (pending);
CREATE INDEX ix_steps_model_id_pending ON steps (model_id, pending);
CREATE INDEX ix_steps_model_id_slice_step_seq ON steps (model_id, slice, step_seq);
CREATE INDEX ix_execution_history_model_id_ord_step_seq ON execution_history (model_id, ord, step_seq);
CREATE INDEX ix_check_results_model_id_batch_number ON check_results (model_id, batch, number);
CREATE INDEX ix_check_results_model_id_name_batch_number ON check_results (model_id, name, batch, number);
CREATE INDEX ix_check_results_model_id_definition_status ON check_results (model_id, definition, status);
CREATE INDEX ix_flags_closed_model_id ON flags (closed, model_id);
CREATE INDEX ix_hook_results_moment_status ON hook_results (moment, status);
CREATE INDEX ix_hook_results_step ON hook_results (step);
COMMIT;
