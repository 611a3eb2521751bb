import { readFileSync, writeFileSync } from 'node:fs'

const SETTING = '/proc/sys/vm/nr_hugepages'
const MEMINFO = '/proc/meminfo'
const PAGE_KB = 2048

/**
 * Reserves huge pages of 2 MiB for this many mebibytes, beside those of other programs, until this process ends. Throws
 * with a remedy where that is impossible.
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
  // Also runs where too few came, which is checked next. Pages in use go once they are free; changes by others stay.
  process.once('exit', () => setAside(Math.max(0, pagesAside() - missing)))
  // The kernel reports no error on fragmented memory: it reserves fewer pages.
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
