-- Moves the records of one day to a table of their own, in one transaction, by statements that are put together from the names of the tables:
-- the way of the published study.
CREATE PROCEDURE move_day(
  IN source VARCHAR(64), IN by_column VARCHAR(64), IN of_date DATE, IN day_table VARCHAR(64), OUT moved BIGINT UNSIGNED)
MODIFIES SQL DATA
BEGIN
  DECLARE deleted BIGINT UNSIGNED;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    ROLLBACK;
    RESIGNAL;
  END;

  SET @of_day = CONCAT(' FROM `', source, '` WHERE `', by_column, '` >= ''', of_date, ''' AND `', by_column, '` < ''',
    of_date + INTERVAL 1 DAY, '''');

  SET @text = CONCAT('CREATE TABLE IF NOT EXISTS `', day_table, '` LIKE `', source, '`');
  PREPARE made FROM @text;
  EXECUTE made;

  START TRANSACTION;
  SET @text = CONCAT('INSERT INTO `', day_table, '` SELECT *', @of_day);
  PREPARE made FROM @text;
  EXECUTE made;
  SET moved = ROW_COUNT();

  SET @text = CONCAT('DELETE', @of_day);
  PREPARE made FROM @text;
  EXECUTE made;
  SET deleted = ROW_COUNT();
  DEALLOCATE PREPARE made;
  IF deleted <> moved THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'other records were copied than deleted';
  END IF;
  COMMIT;
END
