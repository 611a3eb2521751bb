import type { Logger } from '../../shared/log.ts'
import type { PageQueues } from '../queue/page-queues.ts'

/** The page is below this path of the indexer's port. */
export const QUEUE_PAGE_PATH = '/queues'

export interface QueuePageParts {
  mode: 'read' | 'write'
  password: string
  /** Names of all queues, as they are now. */
  queueNames: () => Promise<string[]>
  openQueues: () => Promise<PageQueues>
  log: Logger
}
