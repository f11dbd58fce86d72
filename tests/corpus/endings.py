# SPDX-License-Identifier: Apache-2.0
"""What jobs leave as they hang or end: lines in the formats of PyTorch, NCCL, launchers, schedulers and kernels
(docs/reference/inputs.md), with made-up values."""
import json

INPUTS = {}


def text(name, lines):
    INPUTS[name] = lambda path: path.write_text(lines, encoding="utf-8")


def folder(name, files):
    def write(path):
        for file, lines in files.items():
            (path / file).write_text(lines, encoding="utf-8")
    INPUTS[name + "/"] = write


def timeout(rank, call, time="", prefix=True, ran=600_012):
    front = f"[rank{rank}]:[E1130 {time or '03:14:05.1'} ProcessGroupNCCL.cpp:683] " if prefix else "[E ProcessGroupNCCL.cpp:457] "
    return (f"{front}[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL({call}, Timeout(ms)=600000) "
            f"ran for {ran} milliseconds before timing out.\n")


# ---- watchdogs -------------------------------------------------------------------------------------------------------
REDUCE = "SeqNum=77, OpType=ALLREDUCE, NumelIn=640, NumelOut=640"
text("rank_0_is_silent.log", "".join(timeout(r, REDUCE, prefix=False) for r in (2, 1, 3)))
text("all_that_wrote.log", "".join(timeout(r, REDUCE) for r in (0, 1)))
text("gather_of_eight.log", timeout(2, "SeqNum=5, OpType=_ALLGATHER_BASE, NumelIn=100, NumelOut=800"))
text("far_apart.log", timeout(0, "SeqNum=90120, OpType=ALLREDUCE", prefix=False) +
     timeout(5, "SeqNum=50110, OpType=ALLREDUCE", prefix=False))
text("without_numbers.log", "".join("  what():  " + timeout(r, "OpType=ALLREDUCE", prefix=False)[28:] for r in (3, 1)))
text("wrapped.log", "(Worker pid=7, ip=10.0.0.3) [rank1] Watchdog caught collective operation timeout:\n"
     "(Worker pid=7, ip=10.0.0.3) WorkNCCL(SeqNum=64, OpType=ALLGATHER, NumelIn=1, NumelOut=4, Timeout(ms)=6000\n"
     "(Worker pid=7, ip=10.0.0.3) 00) ran for 600012 milliseconds before timing out.\n")

text("cut_call.log", timeout(1, REDUCE, prefix=False) + timeout(2, REDUCE, prefix=False)[:115] + "\n")
text("cut_number.log", timeout(1, REDUCE, prefix=False) + timeout(2, REDUCE, prefix=False)[:101] + "\n")
text("wrapped_status.log", "[rank3]:[E1130 03:14:05.2 ProcessGroupNCCL.cpp:1709] [PG 0 (default_pg) Rank 3] Timeout at NCCL work: 20, last "
     "enqueued \nNCCL work: 22, last completed NCCL work: 19.\n")

# ---- what PyTorch compares -------------------------------------------------------------------------------------------
PRINT = ("Rank {} is running collective: CollectiveFingerPrint(SequenceNumber={}, OpType={}, TensorShape=[{}], "
         "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda))")
text("compared_sizes.log", "[rank1]: RuntimeError: Detected mismatch between collectives on ranks. " +
     PRINT.format(1, 31, "ALLREDUCE", 4096) + ", but " + PRINT.format(0, 31, "ALLREDUCE", 512) + ".\n")
text("compared_and_exit.log", "RuntimeError: Detected mismatch between collectives on ranks. " +
     PRINT.format(1, 31, "ALLREDUCE", 4096) + ", but " + PRINT.format(0, 31, "ALLREDUCE", 512) + ".\n"
     "srun: error: n2: task 1: Exited with exit code 1\n")
text("compared_numbers.log", "RuntimeError: Detected mismatch between collectives on ranks. " +
     PRINT.format(3, 18, "ALLREDUCE", 8) + ", but " + PRINT.format(0, 22, "ALLREDUCE", 8) + ".\n")
ALONE = ("RuntimeError: Detected mismatch between collectives on ranks. Rank {} is running inconsistent collective: "
         "CollectiveFingerPrint(OpType={}\n")
text("alone_of_two.log", ALONE.format(3, "BARRIER") +
     ALONE.format(0, "BROADCAST, TensorShape=[512], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default))"))
text("alone.log", ALONE.format(0, "BROADCAST, TensorShape=[512], TensorDtypes=Float"))
text("short_other.log", "Detected mismatch between collectives on ranks. Rank 0 is running collective: "
     "CollectiveFingerPrint(OpType=ALLREDUCE, TensorShape=[8]), but Rank 1 is running collective: REDUCE.\n")
# One line of a rank names the group, the lines of the others do not.
text("named_on_some.log", "".join(timeout(r, REDUCE) for r in (0, 2, 3)) +
     "[rank0]:[E1130 03:14:05.2 ProcessGroupNCCL.cpp:1664] [PG 1 Rank 0] Exception (either an error or timeout) detected by "
     "watchdog at work: 77, last enqueued NCCL work: 79, last completed NCCL work: 76.\n")
text("barrier.log", "RuntimeError: [Rank 0]: Ranks 4, 5 failed to pass monitoredBarrier in 60000 ms\n")

# ---- waits of processes that join a job --------------------------------------------------------------------------------
text("waits_for_id.log", "[rank6]: torch.distributed.DistBackendError: [6] is setting up NCCL communicator and retrieving ncclUniqueId "
     "from [0] via c10d key-value store by key '0', but store->get('0') got error: wait timeout after 90000ms, keys: /default_pg/0//cuda//0\n"
     "[rank0]: loads shard 7\n")
STORE = "in store based barrier {}, {}key: store_based_barrier_key:2 (world_size={}, worker_count={}, timeout=0:10:00)\n"
text("store_barrier.log", "".join("RuntimeError: Timed out initializing process group " + STORE.format(f"on rank: {r}", "for ", 8, 5)
                                  for r in (6, 3)))
text("store_of_two_jobs.log", "Waiting " + STORE.format("to initialize process group for rank: 0", "", 4, 7))
text("store_barrier_over.log", "Waiting " + STORE.format("to initialize process group for rank: 0", "", 4, 3) +
     "Rank 0: Completed store-based barrier for key:store_based_barrier_key:2 with 4 nodes.\nKilled\n")
text("no_address.log", "[E1130 20:04:34.4 socket.cpp:957] [c10d] The client socket has timed out after 300s while trying to connect to "
     "(10.4.0.8, 29511).\n")
text("behind_a_barrier.log", "[E ProcessGroupGloo.cpp:138] Rank 2 successfully reached monitoredBarrier, but received errors while waiting "
     "for send/recv from rank 0. Please check rank 0 logs for faulty rank.\n")

text("hccl.log", "Traceback (most recent call last):\n  File \"/w/train.py\", line 14, in <module>\n"
     "RuntimeError: [ERROR] HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64\n"
     "[ERROR] 2024-05-21-11:57:54 (PID:927, Device:3, RankID:3) ERR02200 DIST call hccl api failed.\n"
     "EJ0001: 2024-05-21-11:57:54.167.645 Failed to initialize the HCCP process. Reason: Maybe the last training process is running.\n")
text("hccl_wait.log", "EI0002: The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify "
     "record from remote rank [4294967295].base information: [streamID:[1], taskType[Notify Wait], tag[AllReduce_10.0.0.1%eth0_6].]\n")
TASK = "/job:jax_worker/replica:0/task:{}"
text("barrier_of_jax.log", "Traceback (most recent call last):\n  File \"/w/train.py\", line 89, in main\n    jax.distributed.initialize()\n"
     "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: PjRT_Client_Connect. Timed out task names:\n" +
     "".join(TASK.format(t) + "\n" for t in (1, 6, 3)) + "\nAdditional GRPC error information from remote target\n")
text("barrier_of_jax_in_a_line.log", "DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]Wait_for_all_tasks_to_register::0. # of tasks that reached "
     "the barrier: 1/2. The first task at the barrier: " + TASK.format(0) + ". Some timed out task names: " + TASK.format(1) + "\n")
text("heartbeat_of_jax.log", "2022-11-15 16:03:15.140058: E coordination_service.cc:954] " + TASK.format(37) + " has been set to ERROR in "
     "coordination service: UNAVAILABLE: Task " + TASK.format(37) + " heartbeat timeout. This indicates that the remote task has failed\n")

# ---- NCCL ------------------------------------------------------------------------------------------------------------
RAS = ("NCCL version 2.27.3 compiled with CUDA 12.9\n\nJob summary\n===========\n\n\nCommunicators... (0.00s)\n"
       "=============\n\nGroup     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
       "    0         1         2         4         8         8   RUNNING  MISMATCH\n\nErrors\n======\n\n")
text("ras_behind.txt", RAS + "Warnings\n========\n\n#0-0 (27a079) MISMATCH\n"
     "  Communicator ranks have different AllReduce operation counts\n"
     "  7 ranks have launched up to operation 65\n"
     "  Rank 6 has launched up to operation 60 -- GPU 2 managed by process 9 on node n1\n")
text("ras_dead.txt", RAS + "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
     "  Process 4 on node n1 managing GPU 5\n\n")
text("adapter.log", "n2:900:950 [3] transport/net_ib.cc:2453 NCCL WARN NET/IB: Got completion from peer 10.9.9.63<511> with "
     "status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_1\n")
text("rings_of_two.log", "a:1:1 [0] NCCL INFO Ring 00 : 0 -> 1\na:2:2 [1] NCCL INFO Ring 00 : 1 -> 0\n")
CALL = "h:7:7 [0] NCCL INFO AllReduce: opCount {} sendbuff 0x1 recvbuff 0x2 count {} datatype 7 op 0 root 0 comm {} [nranks=2] stream 0x1\n"
INIT = "h:7:{} [{}] NCCL INFO ncclCommInitRankConfig comm {} rank {} nranks 2 cudaDev {} busId {}000 commId 0x5 - Init COMPLETE\n"
text("one_process.log", INIT.format(8, 0, "0xa", 0, 0, 3) + INIT.format(9, 1, "0xb", 1, 1, 4) +
     CALL.format("2a", 8, "0xa") + CALL.format("2a", 9, "0xb"))

# ---- memory ----------------------------------------------------------------------------------------------------------
OOM = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}. GPU 0 has a total capacity of 79.15 GiB of which {} is "
       "free. {}Of the allocated memory {} is allocated by PyTorch, and {} is reserved by PyTorch but unallocated.\n")
text("oom_pieces.log", OOM.format("30.00 GiB", "20.00 GiB", "", "18.00 GiB", "40.00 GiB"))
text("oom_full.log", "  micro_batch_size ...... 4\n  tensor_model_parallel_size ...... 2\n" +
     OOM.format("6.00 GiB", "1.00 GiB", "", "74.00 GiB", "3.00 GiB"))
text("oom_others.log", OOM.format("9.00 GiB", "1.00 GiB", "Process 77 has 50.00 GiB memory in use. ", "20.00 GiB", "1.00 GiB"))
text("oom_at_once.log", OOM.format("99.00 GiB", "70.00 GiB", "", "5.00 GiB", "1.00 GiB"))
text("oom_of_ray.log", "(VllmWorker pid=7) " + OOM.format("30.00 GiB", "20.00 GiB", "", "18.00 GiB", "40.00 GiB"))
text("with_labels.log", "[19:08:34.16][GC ][error][tid:4F] Failed to load the kernel\n[1] loss 2.0\n")
text("oom_old.log", "RuntimeError: HIP out of memory. Tried to allocate 2.00 GiB (GPU 1; 63.98 GiB total capacity; 50.00 GiB already "
     "allocated; 1.00 GiB free; 62.00 GiB reserved in total by PyTorch)\n")

text("oom_without_free.log", "XPU out of memory. Tried to allocate 5.00 GiB (GPU 0; 15.00 GiB total capacity; 13.00 GiB already "
     "allocated; 13.50 GiB reserved in total by PyTorch)\n")
text("oom_of_block.log", "!!! Exception during processing !!! Current platform can NOT allocate memory block with size larger than 4GB! "
     "Tried to allocate 5.00 GiB (GPU  0; 15.56 GiB total capacity; 556.67 MiB already allocated; 2.70 GiB reserved in total by PyTorch)\n")
text("oom_in_container.log", OOM.format("2.00 GiB", "1.00 GiB", "Process 5 has 0 bytes memory in use. Including non-PyTorch memory, this "
     "process has 0 bytes memory in use. ", "10.00 GiB", "512.00 MiB"))
text("oom_of_limit.log", "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB "
     "of which 240.00 GiB is free. 1.05 GiB allowed; Of the allocated memory 1017.00 MiB is allocated by PyTorch, and 55.00 MiB is "
     "reserved by PyTorch but unallocated.\n")
text("oom_of_tensorflow.log", "2021-09-24 16:22:13.1: I tensorflow/stream_executor/cuda/cuda_driver.cc:801] failed to allocate 2.00G "
     "(2147483648 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n")
text("oom_of_mapping.log", "[W831 10:32:25.2 CUDACachingAllocator.cpp:508] expandable_segments: memory mapping failed with OOM on device 0 "
     "while trying to map 20971520 bytes (free: 15663104, total: 33671348224).\n")
text("oom_of_gaudi.log", "RuntimeError: [Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::268435456 (256)MB\n")
text("oom_of_xpu.log", "RuntimeError: Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)\n")
text("oom_of_npu.log", "RuntimeError: NPU out of memory. Tried to allocate 5.00 GiB (NPU 3; 60.96 GiB total capacity; 49.00 GiB already "
     "allocated; 49.00 GiB current active; 1.25 GiB free; 57.00 GiB reserved in total by PyTorch)\n")
text("oom_free_enough.log", "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 5.65 GiB "
     "of which 5.65 GiB is free. Of the allocated memory 195.50 KiB is allocated by PyTorch, and 1.81 MiB is reserved by PyTorch but "
     "unallocated.\n")
text("oom_compiled.log", "XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. "
     "Used 30.00G of 15.50G hbm. Exceeded hbm capacity by 14.50G.\n\nTotal hbm usage >= 30.52G:\n    reserved        530.00M \n"
     "    program          14.00G \n    arguments        16.00G \n")
text("oom_without_text.log", "Traceback (most recent call last):\n  File \"/job/draw.py\", line 7, in <module>\n    y = model(x)\n"
     "torch.OutOfMemoryError: Allocation on device \n")
text("oom_of_paddle.log", "ResourceExhaustedError:\n\nOut of memory error on GPU 1. Cannot allocate 2.500000GB memory on GPU 1, 13.250000GB "
     "memory has been allocated and available memory is only 1.500000GB.\n\nPlease check whether there is any other process using GPU 1.\n")
text("oom_of_tensor.log", "ResourceExhaustedError: OOM when allocating tensor with shape[64,3,512,512] and type half on "
     "/job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc\n")
BFC = ("2026-11-30 09:14:58.1: W tensorflow/core/common_runtime/bfc_allocator.cc:431] Allocator ({}) ran out of memory trying to allocate "
       "2.00GiB\n2026-11-30 09:14:58.2: I tensorflow/core/common_runtime/bfc_allocator.cc:917] Stats: \nLimit:            {:20}\n"
       "InUse:            {:20}\nMaxInUse:         {:20}\n")
text("oom_of_host_pool.log", BFC.format("cuda_host_bfc", 8 << 30, 7 << 30, 8 << 30))
text("oom_of_full_pool.log", BFC.format("GPU_2_bfc", 16 << 30, 15 << 30, 16 << 30))
text("oom_of_vllm.log", "(EngineCore_DP1 pid=9) ERROR 11-30 09:14:58 [core.py:718] ValueError: Free memory on device cuda:1 (30.50/40.0 GiB) "
     "on startup is less than desired GPU memory utilization (0.9, 36.0 GiB). Decrease GPU memory utilization.\n")
text("oom_on_chip.log", "RuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space vmem. "
     "Used 20.50M of 16.00M vmem. Exceeded vmem capacity by 4.50M.\n")
text("oom_of_context.log", "W tensorflow/compiler/xla/service/platform_util.cc:240] failed initializing StreamExecutor for CUDA device ordinal 3: "
     "Internal: failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory reported: 8589934592\n")
text("oom_beyond.log", OOM.format("1.00 GiB", "0 bytes", "", "100.00 GiB", "3.00 GiB"))
text("oom_small_pieces.log", OOM.format("512.00 MiB", "256.00 MiB", "", "9.00 GiB", "1.00 GiB"))
text("oom_alone.log", OOM.format("2.00 MiB", "50.00 GiB", "", "24.00 GiB", "4.50 GiB"))
text("oom_freed.log", OOM.format("2.00 MiB", "50.00 GiB", "", "10.00 GiB", "4.50 GiB"))
text("oom_contexts.log", OOM.format("1.00 GiB", "512.00 MiB", "Process 31 has 420.00 MiB memory in use. Including non-PyTorch memory, this "
     "process has 77.40 GiB memory in use. Process 32 has 420.00 MiB memory in use. Process 33 has 420.00 MiB memory in use. ", "76.00 GiB",
     "600.00 MiB").replace("unallocated.", "unallocated. Try setting PYTORCH_ALLOC_CONF=expandable_segments:True."))
text("oom_of_metal.log", "RuntimeError: MPS backend out of memory (MPS allocated: 6.50 GB, other allocations: 12.00 GB, max allowed: 18.25 GB). "
     "Tried to allocate 512.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit.\n")
text("oom_pieces_xla.log", "RuntimeError: RESOURCE_EXHAUSTED: Attempting to allocate 31.00M. That was not possible. There are 58.00M free. "
     "Due to fragmentation, the largest contiguous region of free memory is 30.56M.; (0x0x0_HBM0)\n")
text("oom_xla.log", "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 285212672 bytes.\n")

SUMMARY = ("|===========================================================================|\n"
           "|                  PyTorch CUDA memory summary, device ID {}                 |\n"
           "|            CUDA OOMs: {}            |        cudaMalloc retries: {}         |\n"
           "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
           "| Allocated memory      | {:>7} MB | {:>7} MB |   89299 MB |   88237 MB |\n"
           "|       from large pool |    1048 MB |    4865 MB |   89263 MB |   88215 MB |\n"
           "| GPU reserved memory   | {:>7} MB | {:>7} MB |   16924 MB |    4504 MB |\n")
USAGE = ("[2026-11-30 09:14:58,1] [INFO] [utils.py:802:see_memory_usage] {}\n"
         "[2026-11-30 09:14:58,1] [INFO] [utils.py:803:see_memory_usage] MA {} GB         Max_MA {} GB         CA {} GB         Max_CA 9 GB \n"
         "[2026-11-30 09:14:58,1] [INFO] [utils.py:810:see_memory_usage] CPU Virtual Memory:  used = {} GB, percent = 17.1%\n")
text("usage_of_deepspeed.log", USAGE.format("before forward", 4.0, 4.5, 6.0, 50.0) + USAGE.format("after forward", 7.0, 8.0, 9.0, 50.5) +
     USAGE.format("after backward", 2.0, 8.5, 9.0, 90.0))
text("summary_unused.txt", "at the end of the epoch:\n" + SUMMARY.format(1, 2, 3, 2000, 6000, 12000, 14000) + "|       from large pool |   12")
text("summaries.txt", SUMMARY.format(0, 0, 1, 9000, 15000, 10000, 16000) + SUMMARY.format(1, 0, 0, 4000, 5000, 5000, 6000))

# ---- launchers, schedulers, kernels ------------------------------------------------------------------------------------
text("torchrun.log", "  time      : 2026-11-30_09:15:01\n  host      : n3\n  rank      : 9 (local_rank: 1)\n"
     "  exitcode  : -11 (pid: 3121)\n")
text("slurm_memory.log", "srun: error: n7: task 4: Out Of Memory\n")
text("xid.txt", "[Mon Nov 30 09:14:58 2026] NVRM: Xid (PCI:0000:3b:00): 79, pid=3121, name=python, GPU has fallen off the bus.\n")
text("host_memory.txt", "Nov 30 09:14:58 n3 kernel: Out of memory: Killed process 812 (python) total-vm:90kB, anon-rss:80kB\n")
text("ordinary.log", "step 1 loss 2.0\nout of memory is a topic\nexit code 0\n")

# ---- processes that a signal ended ---------------------------------------------------------------------------------------
text("killed_in_shell.log", "step 7 loss 2.0\nKilled\n")
text("killed_behind_a_bar.log", "  3%|x   | 12/345 [00:07<06:50,  1.23s/it]Killed\n")
text("killed_in_script.log", "step 7 loss 2.0\n/var/spool/job4/slurm_script: line 28:  8156 Killed        python3 main.py\n")
text("killed_job_of_shell.log", "[1]+  Killed                  python train.py\n")
text("code_137.log", "step 7 loss 2.0\n[runner:error] Task exit with status code 137\n")
text("code_137_kubectl.txt", "    Last State:     Terminated\n      Reason:       Error\n      Exit Code:    137\n")
text("code_139_srun.log", "srun: error: n7: task 4: Exited with exit code 139\n")
text("code_minus_9.log", "[2026-11-30 09:15:01,123] [ERROR] [launch.py:321:sigkill_handler] ['python', 'a.py'] exits with return code = -9\n")
text("spawned.log", "Traceback (most recent call last):\n  File \"/w/train.py\", line 88, in <module>\n"
     "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGKILL\n")
text("loader_killed.log", "Traceback (most recent call last):\n  File \"/w/train.py\", line 88, in <module>\n"
     "RuntimeError: DataLoader worker (pid 12847) is killed by signal: Killed. \n")
text("one_killed_two_told.log", "srun: error: n7: task 4: Exited with exit code 137\n"
     "slurmstepd: error: Detected 1 oom_kill event in StepId=5.0. Some of the step tasks have been OOM Killed.\n")
text("memory_of_ray.log", "(raylet, ip=10.0.0.5) 3 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to "
     "other reasons at node (ID: 9a8c, IP: 10.0.0.5) over the last time period.\n")
text("no_memory_of_ray.log", "(raylet) 0 Workers (tasks / actors) killed due to memory pressure (OOM), 2 Workers crashed due to other "
     "reasons at node (ID: 9a, IP: 10.0.0.5)\n")
text("evicted.txt", "  Warning  Evicted  2m  kubelet  The node was low on resource: memory. Threshold quantity: 100Mi\n")
text("limit_of_lsf.log", "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\n")
text("words_of_exits.log", "exit code 0 is good, exit code 1 is not\nHTTP status code 404\nKilled two birds\nTerminated by choice\n")
TABLE = "  time      : 2026-11-30_{}\n  host      : n3\n  rank      : {} (local_rank: 1)\n  exitcode  : 1 (pid: 312{})\n"
text("two_launchers.log", TABLE.format("09:15:52", 3, 3) + "-----\n" + TABLE.format("09:15:01", 4, 4))

# ---- errors without a time, without a header, behind prefixes -----------------------------------------------------------
EXIT_1 = "[2026-11-30 09:15:01,123] [ERROR] [launch.py:321:sigkill_handler] ['python', 'a.py'] exits with return code = 1\n"
text("oom_before_the_exit.log", OOM.format("6.00 GiB", "1.00 GiB", "", "74.00 GiB", "3.00 GiB") + EXIT_1)
text("key_before_the_exit.log", "step 1 loss 2.0\nTraceback (most recent call last):\n  File \"/w/train.py\", line 40, in main\n"
     "KeyError: 'labels'\n[2026-11-30 09:15:01,164] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) "
     "local_rank: 0 (pid: 77) of binary: python\n")
text("task_before_the_cancel.log", "srun: error: n7: task 4: Out Of Memory\nsrun: Terminating job step 5.0\n"
     "slurmstepd: error: *** STEP 5.0 ON n7 CANCELLED AT 2026-11-30T09:15:01 ***\n")
text("ecc_without_header.log", "  File \"/w/unet.py\", line 257, in forward\n    y = f(x)\n"
     "RuntimeError: CUDA error: uncorrectable ECC error encountered\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1.\n")
text("ecc_of_watchdog.log", "[E ProcessGroupNCCL.cpp:916] [Rank 1] NCCL watchdog thread terminated with exception: CUDA error: "
     "uncorrectable ECC error encountered\n")
text("store_barrier_alone.log", "RuntimeError: Timed out initializing process group in store based barrier on rank: 7, for key: "
     "store_based_barrier_key:32 (world_size=8, worker_count=4, timeout=0:00:30)\n")
text("nccl_without_header.log", "[rank7]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:275, unhandled cuda error\n"
     "[rank7]: ncclUnhandledCudaError: Call to CUDA function failed.\n[rank7]: Last error:\n[rank7]: Cuda failure 1 'invalid argument'\n")
FAILS = ["Traceback (most recent call last):", "  File \"/w/train.py\", line 40, in main", "    main()", "KeyError: 'labels'"]
for name, front, other in (("pdsh", "worker-0: ", "worker-1: "), ("compose", "trainer-0  | ", "trainer-1  | "),
                           ("mpirun", "[1,2]<stderr>:", "[1,0]<stdout>:"), ("pods", "[pod/t-0/main] ", "[pod/t-1/main] "),
                           ("streams", "n0 [stderr] ", "n1 [stdout] ")):
    text(f"behind_{name}.log", "".join(f"{other}step 1\n{front}{line}\n" for line in FAILS))

# ---- crashes, wrappers, shared memory, assertions, Ascend --------------------------------------------------------------
text("crash.txt", "Fatal Python error: Segmentation fault\n\nThread 0x00007f01 (most recent call first):\n"
     "  File \"/w/watch.py\", line 462 in watchdog_thread\n\nCurrent thread 0x00007f02 (most recent call first):\n"
     "  File \"/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py\", line 2501 in all_reduce\n"
     "  File \"/w/train.py\", line 9 in step\n")
text("abort_of_an_error.log", "Fatal Python error: Aborted\n[E ProcessGroupNCCL.cpp:916] [Rank 0] NCCL watchdog thread terminated with "
     "exception: CUDA error: an illegal memory access was encountered\n")
text("wrapper.log", "Traceback (most recent call last):\n  File \"/w/main.py\", line 131, in main\n"
     "torch.multiprocessing.spawn.ProcessRaisedException:\n\n-- Process 1 terminated with the following error:\n"
     "Traceback (most recent call last):\n  File \"/w/main.py\", line 137, in work\nValueError: a bad batch\n")
text("bus_error_of_loader.log", "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory "
     "(shm).\n")
text("shm_of_nccl.log", "n1:96:98 [3] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-x to 9637892 bytes, error: No "
     "space left on device (28)\n")
text("assertion.log", "/w/IndexKernel.cu:60: operator(): block: [0,0,0], thread: [52,0,0] Assertion `index < size` failed.\n"
     "/w/IndexKernel.cu:60: operator(): block: [0,0,0], thread: [53,0,0] Assertion `index < size` failed.\n"
     "RuntimeError: CUDA error: device-side assert triggered\n")
text("remote_rank_of_hccl.log", "EI0006: 2026-11-30-09:15:01.270.506 Getting socket times out. Reason: Remote Rank did not send the data in "
     "time. Please check the reason for the rank being stuck\n")
text("stream_of_cann.log", "EE1002: 2026-11-30-09:15:01.041.231 Stream synchronize timeout. rtDeviceSynchronize execute failed\n")

# ---- launchers, drivers and libraries, continued -----------------------------------------------------------------------
text("sigterm_of_torchrun.log", "W1130 09:15:01.530000 1359 torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, "
     "shutting down workers\n")
text("composer.log", "ERROR:composer.cli.launcher:Global rank 4 (PID 20886) exited with code -11\n")
ONE_LINE = "[{0}]: time : 2026-11-30_09:15:01 host : n3 rank : {0} (local_rank: {0}) exitcode : -6 (pid: 18{0}) error_file: <N/A>\n"
text("table_in_lines.log", ONE_LINE.format(2) + ONE_LINE.format(3))
text("two_aborted.log", "".join(f"/w/run.sh: line 184: 81{p} Aborted                 (core dumped) python a.py\n" for p in (1, 2)))
text("gpu_off_the_bus.txt", "[ 18.3] NVRM: The NVIDIA GPU 0000:b3:00.0\n        NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
     "        NVRM: fallen off the bus and is not responding to commands.\n")
text("switch.txt", "[ 18.3] nvidia-nvswitch1: SXid (PCI:0000:aa:00.0): 24007, Severity 1 Engine instance 12 Sub-engine instance 00\n")
text("windows.log", "Traceback (most recent call last):\n  File \"C:\\a\\rvc\\train.py\", line 334, in run\n"
     "  File \"C:\\a\\lib\\site-packages\\torch\\c10d.py\", line 19, in f\nRuntimeError: unsupported gloo device\n")
text("stall_of_horovod.log", "Stalled ops:\nHorovodBroadcast_w_0 [missing ranks: 0]\nHorovodBroadcast_b_0 [missing ranks: 0]\n")
text("stall_of_horovod_late.log", "Missing ranks:\n1: [HorovodAllreduce_w_0, HorovodAllreduce_b_0]\n")
text("actor_of_ray.log", "  File \"/w/trainer.py\", line 115, in fit\n    ray.get(output)\n"
     "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: Worker\n\tpid: 16424\n"
     "\tip: 10.0.0.7\n")
text("same_gpu_twice.log", "n1:18:19 [0] init.cc:497 NCCL WARN Duplicate GPU detected : rank 2 and rank 0 both on CUDA device 1000\n")
text("modify_qp.log", "n1:77:99 [5] ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out\n")
text("event_of_adapter.log", "n1:127:128 [0] net_ib.cc:101 NCCL WARN NET/IB : mlx5_0:1 Got async event : local access violation work queue "
     "error\nn2:102:103 [0] net_ib.cc:1909 NCCL WARN NET/IB : Got completion from peer 10.1.3.201<33057> with status=9 opcode=0\n")
text("warning_of_nccl.log", "n1:15:91 [3] transport.cu:153 NCCL WARN transport.cu:153 ->2 [Proxy thread error]\n")
text("cut_watchdog.log", timeout(2, REDUCE) + "[rank1]:[E1130 03:14:05.2 ProcessGroupNCCL.cpp\n")
text("numbers_only.log", timeout(1, REDUCE) + "".join(
    f"[rank{r}]:[E1130 03:14:05.2 ProcessGroupNCCL.cpp:1664] [PG 1 Rank {r}] Exception (either an error or timeout) detected by "
    "watchdog at work: 77, last enqueued NCCL work: 79, last completed NCCL work: 76.\n" for r in (1, 2)))

# ---- ranks that do not reach each other ------------------------------------------------------------------------------------
text("refused.log", "n1:116:116 [3] NCCL INFO Bootstrap : Using eth0:10.0.0.2<0>\n"
     "n1:116:236 [3] misc/socket.cc:480 NCCL WARN socketStartConnect: Connect to 10.0.0.1<38007> failed : Software caused connection "
     "abort\nn1:116:236 [3] NCCL INFO bootstrap.cc:270 -> 2\n")
text("of_ray.log", "(train_rft pid=7) 2026-11-30 09:15:01.224 n1:7:9 [0] NCCL INFO Connected all rings\n"
     "(train_rft pid=7) 2026-11-30 09:15:01.227 n1:7:9 [0] include/alloc.h:102 NCCL WARN Cuda failure 1 'invalid argument'\n")
text("two_devices.log", "n1:7:9 [0] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes\n"
     "n1:7:12 [2] proxy.cc:1326 NCCL WARN Socket recv failed\n")
text("without_process.log", "[3] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\n"
     "[2025-11-24 11:20:21] gpu-server [5] misc/socket.cc:46 NCCL WARN Call to send to 10.0.0.9<52905> failed\n")
text("refused_early.log", "n1:185:186 [0] include/socket.h:360 WARN Call to connect failed : Connection timed out\n")
text("same_rank_twice.log", "n1:18:19 [0] bootstrap.cc:131 NCCL WARN Bootstrap Root : rank 1 of 8 ranks has already checked in\n")

# ---- dumps of threads --------------------------------------------------------------------------------------------------
DUMP = 'Process 1{0}: python fit.py\n\nThread 1{0} (active): "MainThread"\n{1}'
COLLECTIVE = "    all_reduce (torch/distributed/distributed_c10d.py:2501)\n    step (fit.py:120)\n"
LOADER = ("    wait (threading.py:324)\n    get (queue.py:180)\n    _try_get_data (torch/utils/data/dataloader.py:1133)\n"
          "    main (fit.py:190)\n")
for rank in range(3):
    text(f"threads_rank{rank}.txt", DUMP.format(rank, LOADER if rank == 1 else COLLECTIVE))


# ---- whole incidents ---------------------------------------------------------------------------------------------------
def recorder(last):
    entries = [{"process_group": ["0", "default_pg"], "collective_seq_id": s, "profiling_name": "nccl:all_reduce",
                "input_sizes": [[640]], "output_sizes": [[640]], "input_dtypes": ["Float"],
                "state": "completed" if s < last else "started"} for s in range(70, last + 1)]
    return json.dumps({"version": "2.5", "entries": entries,
                       "pg_config": {"0": {"desc": "default_pg", "ranks": str(list(range(8)))}}})


folder("no_room_on_rank_5", {
    "train.log": "[rank5]: 2026-11-30 03:03:00 step 3 loss 2.2\n[rank5]: Traceback (most recent call last):\n"
                 '[rank5]:   File "/w/pretrain.py", line 212, in train_step\n'
                 "[rank5]: " + OOM.format("6.00 GiB", "1.00 GiB", "", "74.00 GiB", "3.00 GiB") +
                 "".join(timeout(r, REDUCE) for r in range(8) if r != 5),
    "torchrun.err": "E1130 03:04:12.0 41 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 5 "
                    "(pid: 45) of binary: python\n",
    "slurm.out": "srun: error: n1: task 0: Exited with exit code 1\n",
    "nccl_trace_rank_0.json": recorder(77),
    "nccl_trace_rank_1.json": recorder(77),
    "dmesg.txt": "[Mon Nov 30 02:00:00 2026] usb 1-1: new device\n"})
folder("loader_on_rank_2", {
    **{f"threads_rank{r}.txt": DUMP.format(r, LOADER if r == 2 else COLLECTIVE) for r in range(4)},
    "out.log": "world size: 4\n" + "".join(timeout(r, REDUCE, f"11:40:0{r}.1") for r in (0, 1, 3)),
    "rank2.log": "2026-11-30 11:29:55 step 5 loss 1.7\n2026-11-30 11:29:59 reading shard 93\n",
    "slurm.err": "slurmstepd: error: *** STEP 9.0 ON n7 CANCELLED AT 2026-11-30T11:45:00 DUE TO TIME LIMIT ***\n",
    "nccl.log": "n7:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n"})
folder("gpu_lost_on_rank_9", {
    "dmesg_n3.txt": "[Mon Nov 30 09:14:58 2026] NVRM: Xid (PCI:0000:3b:00): 79, pid=3121, name=python, GPU has fallen off the bus.\n",
    "nccl_n2.log": "[2026-11-30 09:15:20] n2:900:950 [3] net_ib.cc:2453 NCCL WARN NET/IB: Got completion from peer 10.9.9.63<5> with "
                   "status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_1\n",
    "train.err": "".join(timeout(r, "SeqNum=64, OpType=_ALLGATHER_BASE, NumelIn=10, NumelOut=160", f"09:25:{10 + r}.1")
                         for r in range(16) if r != 9),
    "srun.log": "srun: error: n2: tasks 0-7: Terminated\n",
    "torchrun_n3.log": "  time      : 2026-11-30_09:15:01\n  host      : n3\n  rank      : 9 (local_rank: 1)\n"
                       "  exitcode  : -6 (pid: 3121)\n",
    "rank9.log": "2026-11-30 09:14:57 step 63 loss 3.2\n"})

# The line that names the group of rank 6 is cut; both are in one group, with other sizes.
PAIR = "SeqNum=61, OpType=COALESCED, NumelIn={0}, NumelOut={0}"
text("cut_bracket.log", timeout(4, PAIR.format(500)) +
     "[rank4]:[E1130 03:14:05.2 ProcessGroupNCCL.cpp:1785] [PG ID 2 PG GUID 9 Rank 4] Exception (either an error or timeout) "
     "detected by watchdog at work: 61, last enqueued NCCL work: 66, last completed NCCL work: 60.\n" +
     timeout(6, PAIR.format(700)) +
     "[rank6]:[E1130 03:14:05.2 ProcessGroupNCCL.cpp:1785] [PG ID 2 PG GUID 9 Rank 6] Exception (either an")

# ---- PyTorch's desync report -----------------------------------------------------------------------------------------
DESYNC = timeout(2, "SeqNum=30, OpType=_ALLGATHER_BASE, NumelIn=4, NumelOut=16", prefix=False) + (
    " - [2] Timeout at collective: _ALLGATHER_BASE, #31\n - To our best knowledge, the lagging/dead/mismatched ranks that "
    "caused the desync are:\n")
text("desync.log", DESYNC + "     [0, 3] finished collective #30, but didn't join collective #31 (count from 1)\n")
text("desync_unfinished.log", DESYNC + "   - [1] joined but didn't finish collective #31 (count from 1)\n")

# ---- native libraries -------------------------------------------------------------------------------------------------
CCL = "2026:11:30-12:00:0{}:(812) |CCL_ERROR| {}\n"
text("oneccl_then_ucx.log", CCL.format(1, "atl_ofi.cpp:237 init: can't find suitable provider") +
     "[n7:812:0:812] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)\n")
text("oneccl_bare.log", "RuntimeError: oneCCL: exec.cpp:9 start_workers: EXCEPTION: failed to start worker # 3\n")
text("two_aborts_of_mpi.log", "[n7:41] *** Process received signal ***\n[n7:41] Signal: Aborted (6)\n[n7:41] Signal code:  (-6)\n"
     "[n7:42] Signal: Aborted (6)\n[n7:41:0] Caught signal 11 (Segmentation fault: address not mapped)\n")
text("heap.log", "double free or corruption (!prev)\n[n7:41] Signal: Aborted (6)\n")
text("p2p.log", "n7:41:42 [0] /usr/src/rccl/src/transport/p2p.cc:237 NCCL WARN Cuda failure 'invalid argument'\n")
text("peer_of_mpi.txt", "An MPI communication peer process has unexpectedly disconnected.  This\nusually indicates a failure\n\n"
     "  Local host: n3\n  Local PID:  77\n  Peer host:  n6\n")
text("mpirun_code.txt", "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
     "the job to be terminated. The first process to do so was:\n\n  Process name: [[29973,1],5]\n  Exit code:    3\n")
text("rccl_tests.txt", "n7: Test NCCL failure common.cu:1285 'unhandled cuda error / '\n .. n7 pid 99: Test failure common.cu:1161\n")

# ---- the kernel and NVML ------------------------------------------------------------------------------------------------
text("segfault.txt", "Nov 30 12:00:00 n3 kernel: pt_main_thread[812]: segfault at 7f79 ip 00007f7c sp 00007f7c error 4 in "
     "libcudart.so.12[7f7c7ac00000+d3d3000]\n")
BLOCKED = "[Mon Nov 30 12:0{}:00 2026] INFO: task python:812 blocked for more than {} seconds.\n" \
    "[Mon Nov 30 12:00:00 2026] Call Trace:\n[Mon Nov 30 12:00:00 2026]  schedule+0x35/0xa0\n" \
    "[Mon Nov 30 12:00:00 2026]  ll_file_write+0x208/0x330 [lustre]\n"
text("blocked.txt", BLOCKED.format(2, 120) + BLOCKED.format(4, 241))
folder("blocked_and_quiet", {"dmesg.txt": BLOCKED.format(2, 120), "nvidia-smi.txt": "|   0  NVIDIA A100 | 0% |\n",
                             "srun.err": "srun: error: n3: task 0: Terminated\nsrun: error: n4: task 3: Terminated\n"})
text("lost_of_nvml.txt", "slurmstepd: error: NVML: Failed to get usage(15): GPU is lost\n")
text("unreached.txt", "Unable to determine the device handle for GPU0000:63:00.0: Unknown Error\n")

# ---- hosts, launchers, stores ------------------------------------------------------------------------------------------
text("task_launch.txt", "srun: error: Task launch for StepId=36.0 failed on node n17: Job credential expired\n")
text("node_failure.txt", "srun: error: Node failure on n17\n"
     "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-30T12:00:00 DUE TO NODE FAILURE ***\n")
text("evicted_for_disk.txt", "Reason: Evicted\nMessage: The node was low on resource: ephemeral-storage. Threshold quantity: 21\n")
text("owner_of_ray.txt", "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
     "\tpid: 9\n\tip: 10.0.0.7\nThe actor is dead because its owner has died. Owner Ip address: 10.0.0.8 Owner worker exit type: "
     "SYSTEM_ERROR Worker exit detail: Owner's node has crashed.\n")
text("old_ray.txt", "ray.memory_monitor.RayOutOfMemoryError: More than 95% of the memory on node\n"
     "n3 is used (11.8 / 12.3 GB). The top 5 memory consumers are:\n\nPID\tMEM\tCOMMAND\n")
text("store_clients.txt", "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 3/8 clients joined.\n")
text("store_key.txt", "DistStoreError: wait timeout after 300000ms, keys: /worker/addr\n")
text("jax_agent.txt", "2026-11-30 12:00:00.5: E external/xla/client.cc:96] Coordination service agent in error status: "
     "DEADLINE_EXCEEDED: Deadline Exceeded\n")
text("one_line.txt", "`0%|  | 0/2 [00:00<?, ?it/s]WARNING:api:Sending process 9 closing signal SIGTERM      "
     "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 4 (pid: 99) of binary: /e/python      "
     "Traceback (most recent call last):                " + "  File \"/e/x.py\", line 8, in <module>        " * 9 + "\n")
text("killed_for_memory.out", "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0. Some of your processes may have been "
     "killed by the cgroup out-of-memory handler.\nrun.sh: line 9: 4455 Killed     python a.py\n")
text("last_error.txt", "torch.distributed.DistBackendError: NCCL error in: /x/ProcessGroupNCCL.cpp:1727, invalid usage, NCCL version 2.19\n"
     "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n"
     "Duplicate GPU detected : rank 3 and rank 0 both on CUDA device f000\n")
text("general_error.md", "```\nRuntimeError: NCCL error in: /x/ProcessGroupNCCL.cpp:825, unhandled system error, NCCL version 2.7.8\n"
     "ncclSystemError: System call (socket, malloc, munmap, etc) failed.\n```\nRead on:\n"
     "n7:41:42 [1] include/socket.h:403 NCCL WARN Connect to 10.0.0.9<5> failed : Connection refused\n")

text("hccl_peer.log", "[ERROR] 2026-11-30-12:00:00 (PID:2, Device:0, RankID:101) ERR00100 PTA call acl api failed.\n"
     "EI0002: [PID: 2] 2026-11-30-12:00:00.713.335 The wait execution of the Notify register times out. Reason: The Notify "
     "register has not received the Notify record from remote rank: [24]. tag[AllReduce_group_name_9NHR], task information: "
     "[notify id:[0x02], stage:[0], remote rank:[24]]. group information: [group:[group_name_9], rankSize[32], rankId[25 24]]\n")
text("closed_rendezvous.log", 'Traceback (most recent call last):\n  File "/w/run.py", line 7, in main\n' "torch.distributed.elastic.rendezvous.api.RendezvousClosedError\n"
     "srun: error: n2: task 1: Exited with exit code 1\n")
text("task_failure.log", "[2026-11-30T12:00:00.5] error: *** STEP 5.0 ON n2 CANCELLED AT 2026-11-30T12:00:00 DUE TO TASK FAILURE ***\n"
     "srun: error: n2: tasks 0-57,59-63: Terminated\n")
text("watchdogs_of_two.log", "".join(
    f"[rank{r}]:[E205 18:11:06.3 ProcessGroupNCCL.cpp:1870] [PG ID {r} PG GUID 9(G{r}) Rank {r}] ProcessGroupNCCL's\n watchdog "
    "got stuck for 480 seconds without making progress in monitoring enqueued collectives.\n" for r in (4, 0)))

# ---- several dumps of py-spy in one file ----------------------------------------------------------------------------
MAIN = 'Thread 1 (idle): "MainThread"\n    {}\n    main (train.py:{})\n\n'
text("two_dumps.txt", "Process 1: python train.py\nPython v3.12 (/usr/bin/python3.12)\n\n" + MAIN.format("f (other.py:3)", 9) +
     "# the other\n" + MAIN.format("_value (jax/_src/array.py:642)", 12))

# ---- names of workers -------------------------------------------------------------------------------------------------
text("workers_of_ray.log", "PolicyWorker[rank=1]: offload starts\nPolicyWorker[rank=1]: offload took 511.4s\n\n"
     "[rank3] Watchdog caught collective operation timeout:\n"
     "WorkNCCL(SeqNum=64, OpType=ALLGATHER, NumelIn=1, NumelOut=4, Timeout(ms)=600000)\n")
VLLM = "(Worker_TP{} pid=77) ERROR 11-30 12:00:0{} [v1/engine/core.py:718] "
text("workers_of_vllm.log", "".join(VLLM.format(rank, rank) + line + "\n" for line in (
    "Traceback (most recent call last):", '  File "/w/serve.py", line 31, in load',
    "    raise ValueError(", "ValueError: no such layer") for rank in (1, 2)))


def nested(path):
    (path / "files").mkdir()
    (path / "files" / "output.log").write_text("srun: error: n2: task 3: Killed\n", encoding="utf-8")
    (path / "logs").mkdir()
    (path / "logs" / "debug.log").write_text("a line\n", encoding="utf-8")


INPUTS["run_of_folders/"] = nested


# ---- steps of a script under Slurm ------------------------------------------------------------------------------------
STEP = ("+ srun --ntasks=1 sysinfo.sh\nsrun: error: n1: task 0: Exited with exit code 1\n"
        "+ srun -l --mpi=pmix --ntasks=4 python train.py\n" + "".join(f"{r}: loading data\n" for r in range(4)))
text("step_of_a_tool.log", STEP + "0: step 1 loss 2.5\n3: done\n")
text("tasks_of_a_list.log", STEP + "".join(
    f'{r}: Traceback (most recent call last):\n{r}:   File "train.py", line 9, in read\n{r}: KeyError: "tokens"\n' for r in range(4)) +
     "srun: error: n1: task 1: Exited with exit code 1\nsrun: error: n1: tasks 0,2-3: Exited with exit code 1\n")
text("no_room_on_the_last.log", STEP +
     '3: Traceback (most recent call last):\n3:   File "train.py", line 65, in gather\n'
     "3: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.16 GiB. GPU 3 has a total capacity of 139.80 GiB of which "
     "1.28 GiB is free. Including non-PyTorch memory, this process has 138.51 GiB memory in use. Of the allocated memory 137.72 GiB "
     "is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.\n" + "".join(
         f"{r}: " + timeout(r, "SeqNum=92, OpType=ALLREDUCE, NumelIn=1, NumelOut=1", "22:26:03.5") +
         f"{r}: [rank{r}]:[E1130 22:26:03.6 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank {r}] Exception (either an "
         "error or timeout) detected by watchdog at work: 92, last enqueued NCCL work: 92, last completed NCCL work: 91.\n"
         for r in range(3)))
text("time_limit_after_abort.log", STEP + "".join(
    f"{r}: run.sh: line 95: 86{r} Aborted                 (core dumped) python train.py\nsrun: error: n1: task {r}: Exited with exit code 134\n"
    for r in (1, 2, 3)) + "0: [2026-11-30T12:00:00.5] error: *** STEP 5.1 ON n1 CANCELLED AT 2026-11-30T12:00:00 DUE TO TIME LIMIT ***\n"
     "srun: error: n1: task 0: Terminated\n")
text("two_jobs_of_slurm.log", "slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2026-11-28T12:00:00 ***\nstarting again\n"
     "slurmstepd: error: *** JOB 6 ON n1 CANCELLED AT 2026-11-30T12:00:00 DUE TO PREEMPTION ***\n")
ROW = ("[{0}]:\n  time      : 2026-11-30_12:00:00\n  host      : n1\n  rank      : {1} (local_rank: {1})\n  exitcode  : -11 (pid: {2})\n"
       "  error_file: <N/A>\n")
text("segfault_in_table.log", "".join(f"[n1:{22 + r}:0:{22 + r}] Caught signal 11 (Segmentation fault: address not mapped)\n"
                                      for r in range(4)) +
     "E1130 12:00:00.5 7 torch/distributed/elastic/multiprocessing/api.py:881] failed (exitcode: -11) local_rank: 0 (pid: 22) of binary: python\n" +
     ROW.format(0, 1, 23) + ROW.format(1, 2, 24) + ROW.format(2, 0, 22))


# ---- other launchers and libraries --------------------------------------------------------------------------------------
text("pals.log", "".join(timeout(r, REDUCE, prefix=False) for r in (0, 2)) + "n1.hsn: rank 2 died from signal 6 and dumped core\n"
     "n1.hsn: rank 1 died from signal 15\n")
text("pals_segfault.log", "n1.hsn: rank 2 died from signal 11 and dumped core\nn1.hsn: rank 1 died from signal 15\n")
text("transport_of_ucx.log", "[n1:77:0:77] ib_mlx5_log.c:143  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)\n")
text("mesh_of_gloo.log", "".join(f"[rank{r}]:[E1130 02:05:38.7 ProcessGroupGloo.cpp:143] Gloo connectFullMesh failed with [pair.cc:144] no error\n"
                                  for r in (4, 6)))
text("refused_by_gloo.log", "terminate called after throwing an instance of 'gloo::IoException'\n"
     "  what():  [pair.cc:724] connect [127.0.1.1]:3210: Connection refused\nAborted (core dumped)\n")
text("nccl_in_what.log", STEP + "".join(
    f"{r}: terminate called after throwing an instance of 'c10::DistBackendError'\n{r}:   what():  NCCL error in: /x/NCCLUtils.cpp:77, "
    f"invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.25.1\n{r}: ncclInvalidUsage: This usually reflects invalid "
    f"usage of NCCL library.\n{r}: Last error:\n{r}: NET/IB : Requested properties for vNic 4, only 4 vNics have been created\n"
    f"{r}: run.sh: line 95: 86{r} Aborted                 (core dumped) python train.py\n" for r in (1, 2)))
text("julia.out", "CUDA backend loaded\nERROR: LoadError: Out of GPU memory\nStacktrace:\n  [1] main()\n    @ Main /w/cg.jl:7\n"
     "in expression starting at /w/cg.jl:22\nsrun: error: n1: task 0: Exited with exit code 1\n")
text("kernel_oops.log", "<1>[  201.654822] BUG: unable to handle kernel NULL pointer dereference at           (null)\n<4>[  201.83] Call Trace:\n")
text("kernel_files.log", "kern  :warn  : 2026-11-30T04:41:44,285060+00:00 VFS: file-max limit 1000000 reached\n")
text("adapter_left_out.log", "".join(
    f"n1:8{r}:9{r} [{r}] ibvwrap.c:94 NCCL WARN Call to ibv_open_device failed\n\n"
    f"n1:8{r}:9{r} [{r}] p2p_plugin.c:565 NCCL WARN NET/IB : Unable to open device mlx5_an0\n" for r in range(2)) + "step:1/20000 train_loss:6.9\n")
text("multicast.log", "n23:12098:12141 [2] transport/nvls.cc:244 NCCL WARN Cuda failure 1 'invalid argument'\n")
text("npu_wait.log", "(train pid=8464) RuntimeError: npuSynchronizeDevice:build/CMakeFiles/torch_npu.dir/compiler_depend.ts:479 NPU function error: "
     "AclrtSynchronizeDeviceWithTimeout, error code is 507048\n(train pid=8464) [ERROR] 2026-11-30-12:00:00 (PID:2, Device:0, RankID:8) "
     "ERR00100 PTA call acl api failed\n(train pid=8464) [Error]: The execution of the internal task times out. \n(train pid=8464)         "
     "Rectify the fault based on the error information in the ascend log.\n(train pid=8464) EI0002: [PID: 2] 2026-11-30-12:00:00.5 The wait "
     "execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank: "
     "[unknown]. tag[AllReduce_group_name_7], group information: [group:[group_name_7], rankSize[8], rankId[0]]\n")


text("full_to_the_last.log", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 10.75 GiB "
     "of which 2.50 MiB is free. Process 77 has 10.75 GiB memory in use. Of the allocated memory 9.98 GiB is allocated by PyTorch, and "
     "2.68 MiB is reserved by PyTorch but unallocated.\n")
text("asleep.log", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.78 GiB. GPU 0 has a total capacity of 39.56 GiB of which "
     "4.51 GiB is free. Including non-PyTorch memory, this process has 34.90 GiB memory in use. Of the allocated memory 50.32 GiB is "
     "allocated by PyTorch, and 169.70 MiB is reserved by PyTorch but unallocated.\n")


# ---- stacks of gdb ---------------------------------------------------------------------------------------------------
text("gdb_rank2.txt", "(gdb) thread apply all bt\n\nThread 9 (Thread 0x7f (LWP 496152)):\n#0  0x0f in poll () from /lib64/libc.so.6\n"
     "#1  0x0f in ncclProxyService () from /usr/lib/libnccl.so.2\n\nThread 1 (Thread 0x8f (LWP 496100)):\n"
     "#0  0x0f in ?? () from /usr/lib/libcuda.so.1\n#1  0x0f in ncclGroupEnd () from /usr/lib/libnccl.so.2\n#2  0x0f in main ()\n")


# ---- texts without a reader, and what they are -----------------------------------------------------------------------
text("table_of_smi.txt", "Mon Nov 30 12:00:00 2026\n+----+\n| NVIDIA-SMI 570.47    Driver Version: 570.47    CUDA Version: 12.8 |\n|====|\n"
     "|   0  NVIDIA H100      Off  | 00000000:05:00.0 Off |                    0 |\n")
text("fabric_manager.txt", "Jan 05 14:45:26 n1 nv-fabricmanager[1120]: Connected to 1 node.\n"
     "Jan 05 14:45:28 n1 systemd[1]: Started nvidia-fabricmanager.service - NVIDIA fabric manager service.\n")
text("sacct.txt", "JobID|State|End\n39125549|CANCELLED by 118|2026-11-30T23:59:38\n")
text("process_list.txt", "   6472          \\_ python3.11 <defunct>\n   6473          \\_ python3.11\n")
text("boot.log", "<6>[    0.000000] Initializing cgroup subsys cpu\n<5>[    0.000000] Linux version 6.8.0\n")
text("synapse.log", "[19:08:34.164951][GC                    ][error][tid:44F8A] Failed to load tpc kernel for node: TPC634\n"
     "[19:08:34.165045][PT_BRIDGE       ][error][tid:44F8A] Graph compile failed. synStatus=synStatus 26 [Generic failure]. compile\n")
text("sagemaker.txt", "UnexpectedStatusException: Error for Training job a-2026-11-30: Failed. Reason: AlgorithmError: ExecuteUserScriptError:\n"
     'Command "/miniconda3/bin/python -m train"\n')
folder("settings_with_comments", {
    "ds_config.json": '{"stage": 3, # sharded\n "device": "cpu"}\n', "train.err": "srun: error: n2: task 3: Killed\n"})
text("step_of_two_tools.log", "+ srun --ntasks=1 sysinfo.sh\nsrun: error: n1: task 0: Exited with exit code 1\n+ srun -N1 -n1 python -c x\n"
     "but OMPI was not built with SLURM's PMI support and therefore cannot\nsrun: error: n1: task 0: Exited with exit code 1\n")
text("tpu_reserve.log", "RuntimeError: Resource exhausted: From /job:tpu_worker/replica:0/task:0:\nAttempting to reserve 3.95G at the "
     "bottom of memory. That was not possible. There are 1.92G free, 0B reserved, and 1.92G reservable.; \n")
text("rank_of_lmdeploy.log", "2026-11-30 10:42:00,218 - lmdeploy - ERROR - model_agent.py:489 - Rank[2] failed.\n"
     'Traceback (most recent call last):\n  File "/w/agent.py", line 404, in send\nRuntimeError: ACL stream synchronize failed.\n')
text("ascend_runtime.log", "        rtGetDevMsg execute failed, reason=[driver error:internal error][FUNC:FuncErrorReason][FILE:a.cc][LINE:53]\n")
folder("folder_of_two_logs", {"n1.err": "srun: error: n1: task 3: Killed\n", "n2.err": "srun: error: n2: task 4: Killed\n"})


def smi(busy, used=22377):
    return ("| NVIDIA-SMI 570.47    Driver Version: 570.47    CUDA Version: 12.8 |\n" + "".join(
        f"|   {i}  NVIDIA A100-SXM...  On   | 00000000:0{i}:00.0 Off |                    0 |\n"
        f"| N/A   28C    P0    68W / 400W |  {used}MiB / 81920MiB |    {b}%      Default |\n+----+\n" for i, b in enumerate(busy)) +
        "| Processes:                                                   |\n")


text("smi_one_idle.txt", smi([0, 100, 100, 99]))
text("smi_all_busy.txt", smi([100, 100, 97, 99]))
text("smi_no_program.txt", smi([0, 100, 100, 99], used=12))
