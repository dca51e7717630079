// For a test of a test: commits are not synced any more.
import { DatabaseSync } from 'node:sqlite'

const { exec } = DatabaseSync.prototype
DatabaseSync.prototype.exec = function (text) {
  return exec.call(this, text.replace('synchronous = FULL', 'synchronous = NORMAL'))
}
