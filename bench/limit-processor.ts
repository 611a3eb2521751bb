import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { childrenOf } from '../test/simulation/process-tree.ts'

const GROUPS = '/sys/fs/cgroup/cpu'
const PERIOD_US = 10_000

/**
 * Gives a process, its children and theirs at most this share of one core, by a control group of Linux (version 1; needs
 * root). `lift` ends it once they have ended.
 */
export function limitProcessor(name: string, pid: number, share: number): { lift: () => void } {
  if (!existsSync(join(GROUPS, 'cpu.cfs_quota_us')))
    throw new Error(`${GROUPS} is not there: the share of a process cannot be limited on this machine`)
  const group = join(GROUPS, name)
  mkdirSync(group, { recursive: true })
  writeFileSync(join(group, 'cpu.cfs_period_us'), `${PERIOD_US}`)
  writeFileSync(join(group, 'cpu.cfs_quota_us'), `${Math.round(PERIOD_US * share)}`)
  const add = (one: number): void => writeFileSync(join(group, 'cgroup.procs'), `${one}`)
  add(pid)
  for (const child of childrenOf(pid)) {
    try {
      add(child)
    } catch {
      // It has ended.
    }
  }
  return { lift: () => rmdirSync(group) }
}
