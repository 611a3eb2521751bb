import t from 'tap'
import { indexerMetrics } from '../../helpers/program-metrics.ts'

const BLOCK = { hash: '0x1', timeS: 0 }

void t.test('steps are measured by stage, and reorgs by depth', async (t) => {
  const { registry, meters } = indexerMetrics([])
  const meter = meters.stepMeterOf('evm:1')
  meter.onRead(20, 40)
  meter.onQueued(2_000)
  const to = { ...BLOCK, number: 9, parentHash: '0x0' }
  const read = { to, headers: [to], events: [], evidence: [] }
  meter.onWritten({ type: 'blocks', from: 5, after: null, ...read }, 3)
  meter.onWritten(
    { type: 'reorg', ancestor: { number: 4, hash: '0x4' }, replaces: { number: 8, hash: '0x8' }, ...read },
    3,
  )
  meter.onWritten({ type: 'finalized', block: to }, 3)
  const text = await registry.metrics()
  for (const line of [
    'loan_activity_stage_duration_seconds_bucket{le="0.05",network="evm:1",stage="read"} 1',
    'loan_activity_stage_duration_seconds_sum{network="evm:1",stage="queue"} 2',
    'loan_activity_stage_duration_seconds_count{network="evm:1",stage="write"} 3',
    'loan_activity_range_blocks_sum{network="evm:1"} 20',
    'loan_activity_step_events_count{network="evm:1"} 2',
    'loan_activity_reorg_depth_blocks_bucket{le="3",network="evm:1"} 0',
    'loan_activity_reorg_depth_blocks_bucket{le="5",network="evm:1"} 1',
  ])
    t.ok(text.includes(`${line}\n`), line)
})

void t.test('an endpoint has its series before it fails, and is put aside for a while', async (t) => {
  const { registry, meters } = indexerMetrics([])
  const watch = meters.endpointWatchOf('evm:1', 2)
  const linesOf = async (name: string): Promise<string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith(`loan_activity_rpc_${name}`))
  const one = 'network="evm:1",endpoint="1"'
  const two = 'network="evm:1",endpoint="2"'
  t.same(await linesOf('put_aside'), [
    `loan_activity_rpc_put_aside{${one}} 0`,
    `loan_activity_rpc_put_aside{${two}} 0`,
  ])
  t.ok((await linesOf('errors_total')).includes(`loan_activity_rpc_errors_total{${two},reason="timeout"} 0`))
  watch.onRequest(2, 7, 30, null)
  watch.onRequest(2, 1, 30, 'timeout')
  watch.onDisagreement(1)
  watch.onAside(1, performance.now() + 60_000)
  watch.onAside(2, performance.now() - 1)
  t.ok((await linesOf('errors_total')).includes(`loan_activity_rpc_errors_total{${two},reason="timeout"} 1`))
  t.ok((await linesOf('requests_total')).includes(`loan_activity_rpc_requests_total{${two}} 2`))
  t.ok((await linesOf('batch_calls')).includes(`loan_activity_rpc_batch_calls_sum{${two}} 8`))
  t.same(await linesOf('disagreements'), [
    `loan_activity_rpc_disagreements_total{${one}} 1`,
    `loan_activity_rpc_disagreements_total{${two}} 0`,
  ])
  t.same(await linesOf('put_aside'), [
    `loan_activity_rpc_put_aside{${one}} 1`,
    `loan_activity_rpc_put_aside{${two}} 0`,
  ])
})
