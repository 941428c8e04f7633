"""The engines that tests/engines.py and bench/on_engines.py start on this machine, with two workers each.

A class has `table`, which makes a table of the engine from records or reads one from Parquet files, `dedup`, which runs the
driver of the package, and `kill`, which kills a process that runs tasks.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path


def listed_processes(name):
    """The processes whose command matches `name`."""
    listed = subprocess.run(["pgrep", "-f", name], stdout=subprocess.PIPE, text=True).stdout.split()
    return [int(process) for process in listed]


def kill_one(draw, name):
    """Kills one of the processes whose command matches `name`. Returns whether there was one."""
    listed = listed_processes(name)
    if not listed:
        return False
    try:
        os.kill(draw.choice(listed), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


class Spark:
    """A standalone master with workers of one core each."""

    kills = True
    # The number of workers.
    machines = 2
    # A part of the command of the processes that run tasks.
    workers = "pyspark.daemon"

    def __init__(self, folder):
        import pyspark

        if "TWINPRINT_MASTER" in os.environ:
            self.master, self.processes, self.log = os.environ["TWINPRINT_MASTER"], [], None
            self.session = self.connect()
            return
        self.home = Path(pyspark.__file__).parent
        python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        self.environment = {**os.environ, **python, "SPARK_HOME": str(self.home), "SPARK_LOCAL_IP": "127.0.0.1"}
        os.environ.update(python)
        port = random.randrange(20000, 30000)
        self.master = f"spark://127.0.0.1:{port}"
        self.log = open(folder / "spark.log", "wb")
        self.processes = [
            self.start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"),
        ]
        for worker in range(self.machines):
            place = folder / f"worker-{worker}"
            options = ["--cores", "1", "--memory", "1500m", "--webui-port", "0", "--work-dir", str(place)]
            self.processes.append(self.start("worker.Worker", "--host", "127.0.0.1", *options, self.master))
        self.session = self.connect()

    def start(self, name, *options):
        command = [str(self.home / "bin/spark-class"), f"org.apache.spark.deploy.{name}", *options]
        return subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=self.log)

    def connect(self):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(self.master).appName("twinprint")
        for key, value in {
            "spark.executor.memory": "1g",
            "spark.executor.cores": "1",
            "spark.task.maxFailures": "1000",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.deploy.maxExecutorRetries": "-1",
            "spark.excludeOnFailure.enabled": "false",
            "spark.sql.shuffle.partitions": "8",
        }.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        deadline = time.monotonic() + 60
        while session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() <= self.machines:
            if time.monotonic() > deadline:
                raise TimeoutError("the workers of Spark have not started within a minute")
            time.sleep(0.2)
        return session

    def table(self, rows, partitions):
        share = -(-len(rows) // partitions)
        parts = [rows[start : start + share] for start in range(0, len(rows), share)]
        lists = self.session.sparkContext.parallelize(parts, len(parts)).flatMap(lambda part: part)
        return self.session.createDataFrame(lists, "id string, text string, rank long")

    def read(self, folder):
        return self.session.read.parquet(f"file://{folder}")

    def dedup(self, table, work, options):
        import twinprint.spark

        return twinprint.spark.dedup(table, work, session=self.session, id="id", **options)

    def counts(self, found):
        return {"kept": found.kept.count(), "removed": found.removed.count() if found.removed else 0}

    def module(self):
        import twinprint.spark

        return twinprint.spark

    def other_driver(self):
        """Leaves the workers to another driver, and returns its environment."""
        self.session.stop()
        return {"TWINPRINT_MASTER": self.master}

    def take_over(self):
        self.session = self.connect()

    def kill(self, draw, stage):
        """Kills an executor. Returns whether there was one."""
        return kill_one(draw, "CoarseGrainedExecutorBackend")

    def stop(self):
        self.session.stop()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
        self.log.close()


class Sail(Spark):
    """The server of Sail, with its workers in processes of their own."""

    kills = False
    workers = None

    def __init__(self, folder):
        os.environ.update(SAIL_MODE="local-cluster", RUST_LOG="error")
        from pysail.spark import SparkConnectServer
        from pyspark.sql import SparkSession

        self.server = SparkConnectServer()
        self.server.start()
        _, port = self.server.listening_address
        self.session = SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()

    def table(self, rows, partitions):
        return self.session.createDataFrame([tuple(row.values()) for row in rows], "id string, text string, rank long")

    def stop(self):
        self.session.stop()
        self.server.stop()


class Ray:
    """Ray on this machine, with two workers."""

    kills = True
    workers = "ray::"

    def __init__(self, folder):
        import ray

        logging = {"log_to_driver": False, "logging_level": "error", "include_dashboard": False}
        ray.init(num_cpus=2, object_store_memory=200 << 20, _temp_dir=str(folder / "ray"), **logging)
        ray.data.DataContext.get_current().enable_progress_bars = False

    def table(self, rows, partitions):
        import ray

        return ray.data.from_items(rows, override_num_blocks=partitions)

    def read(self, folder):
        import ray

        return ray.data.read_parquet(str(folder))

    def dedup(self, table, work, options):
        import twinprint.ray

        return twinprint.ray.dedup(table, work, id="id", **options)

    def counts(self, found):
        return {"kept": found.kept.count(), "removed": found.removed.count() if found.removed else 0}

    def module(self):
        import twinprint.ray

        return twinprint.ray

    def other_driver(self):
        return {}

    def take_over(self):
        pass

    def kill(self, draw, stage):
        """Kills a worker. Returns whether there was one."""
        return kill_one(draw, "ray::_run_(task|finish)")

    def stop(self):
        import ray

        ray.shutdown()


class Datatrove:
    """The local executor of datatrove, with two workers."""

    kills = False

    def __init__(self, folder):
        pass

    def table(self, rows, partitions):
        return rows, partitions

    def dedup(self, table, work, options):
        import twinprint

        rows, partitions = table
        folder = Path(work)
        (folder / "input").mkdir(parents=True)
        for number in range(partitions):
            part = rows[number * len(rows) // partitions : (number + 1) * len(rows) // partitions]
            lines = [json.dumps(row, ensure_ascii=False) for row in part]
            (folder / f"input/{number:05}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        self.run(twinprint.StagedRun(folder / "input", folder / "result", id="id", **options), folder / "logs")

    def run(self, run, logs):
        """Runs the steps to their end."""
        from datatrove.executor import LocalPipelineExecutor

        import twinprint.datatrove

        before = None
        for step in twinprint.datatrove.steps(run):
            places = {"logging_dir": str(logs / step.stage), "depends": before}
            before = LocalPipelineExecutor([step], tasks=step.tasks(3), workers=2, **places)
        before.run()

    def counts(self, found):
        return None

    def stop(self):
        pass


class Slurm(Datatrove):
    """datatrove on Slurm: a controller and a machine with two cores.

    `dedup` kills a task of each stage as often as `kills_each` says, at a random moment within `kill_within` seconds
    after it began. A killed task fails, and Slurm cancels the jobs that depend on it. Then the same pipelines are
    started again, as a user does.
    """

    kills_each, kill_within = 0, 1.0
    # The longest time that a run takes, in seconds.
    patience = 1800

    def __init__(self, folder):
        self.folder, self.killed, self.draw = folder, {}, random.Random(1)
        self.daemons = []
        name, port = socket.gethostname().split(".")[0], random.randrange(30000, 40000)
        for place in ("munge", "spool", "state"):
            (folder / place).mkdir()
        # Users of the machine must reach the socket.
        folder.chmod(0o711)
        (folder / "munge").chmod(0o711)
        (folder / "munge/key").write_bytes(os.urandom(64))
        (folder / "munge/key").chmod(0o600)
        files = ["key", "socket", "pid", "log", "seed"]
        options = [f"--{file}{'' if file == 'socket' else '-file'}={folder}/munge/{file}" for file in files]
        self.daemons.append(subprocess.Popen(["munged", "--foreground", "--force", *options], **self.silent()))
        settings = {
            "ClusterName": "twinprint",
            "SlurmctldHost": f"{name}(127.0.0.1)",
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={folder}/munge/socket",
            "MpiDefault": "none",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "ReturnToService": "2",
            "SlurmctldPidFile": f"{folder}/slurmctld.pid",
            "SlurmdPidFile": f"{folder}/slurmd.pid",
            "SlurmctldPort": port,
            "SlurmdPort": port + 1,
            "SlurmdSpoolDir": f"{folder}/spool",
            "StateSaveLocation": f"{folder}/state",
            "SlurmUser": "root",
            "SlurmdUser": "root",
            "SwitchType": "switch/none",
            "DependencyParameters": "kill_invalid_depend",
            "SchedulerParameters": "batch_sched_delay=0,sched_interval=1,bf_interval=1",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core",
            "SlurmctldLogFile": f"{folder}/slurmctld.log",
            "SlurmdLogFile": f"{folder}/slurmd.log",
        }
        lines = [f"{key}={value}" for key, value in settings.items()]
        lines.append(f"NodeName={name} NodeAddr=127.0.0.1 CPUs=2 RealMemory=8000 State=UNKNOWN")
        lines.append("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
        (folder / "slurm.conf").write_text("\n".join(lines) + "\n")
        os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
        self.wait(lambda: (folder / "munge/socket").exists(), 30)
        self.daemons.append(subprocess.Popen(["slurmctld", "-c", "-D"], **self.silent()))
        self.daemons.append(subprocess.Popen(["slurmd", "-D"], **self.silent()))
        self.wait(lambda: "idle" in self.listed("sinfo", "-h", "-o", "%T"), 60)

    def silent(self):
        return {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def listed(self, *command):
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

    def wait(self, is_so, seconds):
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                raise TimeoutError(f"Slurm: see the logs in {self.folder}")
            time.sleep(0.05)

    def run(self, run, logs):
        from datatrove.executor import SlurmPipelineExecutor

        import twinprint.datatrove

        self.killed = dict.fromkeys([*twinprint.stages.STAGES, "write"], 0)
        deadline = time.monotonic() + self.patience
        while not run.is_finished():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the run is not finished; see {logs} and {self.folder}")
            before = None
            for step in twinprint.datatrove.steps(run):
                place = str(logs / step.stage)
                before = SlurmPipelineExecutor(
                    [step],
                    tasks=step.tasks(3),
                    time="01:00:00",
                    partition="main",
                    mem_per_cpu_gb=1,
                    job_name=step.stage,
                    logging_dir=place,
                    slurm_logs_folder=f"{place}/slurm",
                    venv_path=f"{sys.prefix}/bin/activate",
                    depends=before,
                )
            before.run()
            while self.listed("squeue", "-h"):
                self.kill_task(logs)
                time.sleep(0.02)

    def kill_task(self, logs):
        """Kills a task of a stage that has not had its kills."""
        for stage, kills in self.killed.items():
            name = f"python.*launch_pickled_pipeline {logs}/{stage}/"
            if kills < self.kills_each and listed_processes(name):
                time.sleep(self.draw.uniform(0, self.kill_within))
                self.killed[stage] += kill_one(self.draw, name)

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            daemon.wait()
