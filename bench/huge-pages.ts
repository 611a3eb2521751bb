import { readFileSync, writeFileSync } from 'node:fs'

const SETTING = '/proc/sys/vm/nr_hugepages'
const MEMINFO = '/proc/meminfo'
const PAGE_KB = 2048

/**
 * Has Linux set as many huge pages of 2 MiB aside as so many mebibytes take, beside those that others have, until this process ends.
 * Throws where that cannot be done, with what is to be done.
 */
export function setHugePagesAside(mebibytes: number): void {
  if (process.platform !== 'linux') throw new Error('huge pages are set aside on Linux alone')
  if (inMemory('Hugepagesize') !== PAGE_KB)
    throw new Error(`huge pages are of ${PAGE_KB} kB here, or of none`)
  const wanted = Math.ceil((mebibytes * 1024) / PAGE_KB)
  const missing = wanted - pagesFree()
  if (missing <= 0) return
  const all = pagesAside() + missing
  try {
    setAside(all)
  } catch (cause) {
    throw new Error(
      `to set huge pages aside is the administrator's: \`sysctl vm.nr_hugepages=${all}\` as root, and no --huge-pages`,
      { cause },
    )
  }
  // Also where too few came, which is looked at next. Those that are in use go when they are not; what others changed meanwhile stays.
  process.once('exit', () => setAside(Math.max(0, pagesAside() - missing)))
  // The kernel says nothing where memory is in too many pieces: it sets fewer aside.
  if (pagesFree() < wanted) {
    throw new Error(
      `only ${pagesFree()} of ${wanted} huge pages are to be had: memory is in use, or in pieces`,
    )
  }
}

function setAside(pages: number): void {
  writeFileSync(SETTING, String(pages))
}

function pagesAside(): number {
  return Number(readFileSync(SETTING, 'utf8'))
}

function pagesFree(): number {
  return inMemory('HugePages_Free') - inMemory('HugePages_Rsvd')
}

function inMemory(name: string): number {
  const value = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(MEMINFO, 'utf8'))?.[1]
  return Number(value)
}
