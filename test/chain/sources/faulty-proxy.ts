import type { Test } from 'tap'
import type { Fault } from '../../../devnet/faults/fault.ts'
import { startFaultProxy, type FaultProxy } from '../../../devnet/faults/fault-proxy.ts'

export type { Answer, Fault, Reply, Request } from '../../../devnet/faults/fault.ts'
export type Proxy = FaultProxy

/** As `startFaultProxy`; stopped in teardown. */
export async function startProxy(t: Test, target: string, fault: Fault = () => null): Promise<FaultProxy> {
  const proxy = await startFaultProxy(target, { fault })
  t.teardown(() => proxy.stop())
  return proxy
}
