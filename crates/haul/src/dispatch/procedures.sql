-- How `evenkeel cdr dispatch --way procedure` moves records: stored procedures that write their statements themselves.
--
-- `evenkeel cdr dispatch --print-procedures` shows this file, which the client reads as it is; the dispatch installs the procedures
-- in the database of the source, and --remove-procedures drops them. To move the calls of a day by hand:
--   CALL evenkeel_move('calls', 'started', '2026-08-01', '2026-08-01 23:59:59.999999', 'calls_20260801', 0, @moved);
-- The last but one parameter is the row of the journal that counts them; 0 where none does.

-- A procedure keeps the mode that it was made in: values are copied as they are, impossible dates and zeroes included.
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES';

DELIMITER //

-- Moves the records of a stretch of time to a table, in one transaction: all of them, or none.
-- Where first_instant is NULL, those without a date are moved.
CREATE PROCEDURE evenkeel_move(
  IN source VARCHAR(64) CHARACTER SET utf8mb4,
  IN by_column VARCHAR(64) CHARACTER SET utf8mb4,
  IN first_instant VARCHAR(26),
  IN last_instant VARCHAR(26),
  IN day_table VARCHAR(64) CHARACTER SET utf8mb4,
  IN entry BIGINT UNSIGNED,
  OUT moved BIGINT UNSIGNED)
MODIFIES SQL DATA
SQL SECURITY INVOKER
COMMENT 'evenkeel 1'
BEGIN
  DECLARE deleted BIGINT UNSIGNED;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    ROLLBACK;
    RESIGNAL;
  END;

  START TRANSACTION;
  CALL evenkeel_append(source, by_column, first_instant, last_instant, day_table, moved);

  -- The rows that were read stay locked, so that these are the same ones.
  SET @evenkeel_sql = CONCAT('DELETE FROM ', @evenkeel_source, ' WHERE ', @evenkeel_which);
  PREPARE evenkeel_statement FROM @evenkeel_sql;
  EXECUTE evenkeel_statement;
  SET deleted = ROW_COUNT();
  DEALLOCATE PREPARE evenkeel_statement;
  IF deleted <> moved THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'evenkeel: not the same records were copied and deleted';
  END IF;

  UPDATE evenkeel_dispatches SET records = records + moved WHERE id = entry;
  COMMIT;
END//

-- Copies the records of a stretch of time to a table, and leaves them where they are.
CREATE PROCEDURE evenkeel_append(
  IN source VARCHAR(64) CHARACTER SET utf8mb4,
  IN by_column VARCHAR(64) CHARACTER SET utf8mb4,
  IN first_instant VARCHAR(26),
  IN last_instant VARCHAR(26),
  IN day_table VARCHAR(64) CHARACTER SET utf8mb4,
  OUT copied BIGINT UNSIGNED)
MODIFIES SQL DATA
SQL SECURITY INVOKER
COMMENT 'evenkeel 1'
BEGIN
  -- Names become text of statements: a backtick within one is doubled.
  SET @evenkeel_source = CONCAT('`', REPLACE(source, '`', '``'), '`');
  SET @evenkeel_by = CONCAT('`', REPLACE(by_column, '`', '``'), '`');
  SET @evenkeel_target = CONCAT('`', REPLACE(day_table, '`', '``'), '`');

  -- All columns besides those that the server computes.
  SET SESSION group_concat_max_len = 1048576;
  SET @evenkeel_columns = (
    SELECT GROUP_CONCAT(CONCAT('`', REPLACE(COLUMN_NAME, '`', '``'), '`') ORDER BY ORDINAL_POSITION SEPARATOR ', ')
    FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = source AND EXTRA NOT LIKE '% GENERATED%');

  -- A record without a date has NULL, a date of zeroes, or a day that no calendar has.
  SET @evenkeel_which = IF(first_instant IS NULL,
    CONCAT('NOT COALESCE(FROM_DAYS(TO_DAYS(', @evenkeel_by, ')) = DATE(', @evenkeel_by, ') AND ',
      @evenkeel_by, ' >= ''1000-01-01'', FALSE)'),
    CONCAT(@evenkeel_by, ' BETWEEN ', QUOTE(first_instant), ' AND ', QUOTE(last_instant)));

  SET @evenkeel_sql = CONCAT('INSERT INTO ', @evenkeel_target, ' (', @evenkeel_columns, ') SELECT ',
    @evenkeel_columns, ' FROM ', @evenkeel_source, ' WHERE ', @evenkeel_which);
  PREPARE evenkeel_statement FROM @evenkeel_sql;
  EXECUTE evenkeel_statement;
  SET copied = ROW_COUNT();
  DEALLOCATE PREPARE evenkeel_statement;
END//

DELIMITER ;
