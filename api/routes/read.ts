/** The methods of every route. A HEAD runs as its GET does, so its headers are the same. */
export const READ = ['GET', 'HEAD']
